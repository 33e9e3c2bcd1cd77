//! Values from text. Each error reads on from the name of the setting, and says what to write.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use crate::config::duration::{is_off, parse_duration};
use crate::config::key::{Key, Kind};
use crate::config::size::parse_size;
use crate::config::tree::{Node, Value, parse_yaml};

type Parsed<T> = Result<T, String>;

fn scalar(value: &Value) -> Parsed<&str> {
    match value {
        Value::Text(text) => Ok(text.trim()),
        Value::Null => Err("has no value; give it one or remove the line".into()),
        Value::List(_) => Err("is a list, but takes a single value".into()),
        Value::Map(_) => Err("is a section, but takes a single value".into()),
    }
}

/// Any text but an empty one: what is set to nothing was most likely meant to be set to something.
pub(super) fn text(value: &Value) -> Parsed<String> {
    match value {
        Value::Text(text) if !text.trim().is_empty() => Ok(text.clone()),
        Value::Text(_) => Err("is empty; give it a value or remove it".into()),
        other => scalar(other).map(str::to_owned),
    }
}

pub(super) fn choice(key: &Key, value: &Value) -> Parsed<String> {
    let text = scalar(value)?;
    let Kind::Choice(choices) = key.kind else { return Err("takes no choice".into()) };
    let wanted = if is_off(text) { "off" } else { text };
    choices
        .iter()
        .find(|choice| choice.eq_ignore_ascii_case(wanted))
        .map(|choice| (*choice).to_owned())
        .ok_or_else(|| format!("is `{text}`; it is one of {}", choices.join(", ")))
}

pub(super) fn flag(value: &Value) -> Parsed<bool> {
    let text = scalar(value)?;
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" | "1" => Ok(true),
        "false" | "no" | "off" | "0" => Ok(false),
        _ => Err(format!("is `{text}`; it is true or false")),
    }
}

pub(super) fn duration(key: &Key, value: &Value) -> Parsed<Duration> {
    let text = scalar(value)?;
    if text.eq_ignore_ascii_case("off") {
        return Err("cannot be switched off; give it a duration like 20s".into());
    }
    let duration = parse_duration(text)?;
    let Kind::Duration { min, max, .. } = key.kind else { return Ok(duration) };
    let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
    if duration < min || duration > max {
        return Err(format!("is {text}; it must be between {min:?} and {max:?}"));
    }
    Ok(duration)
}

pub(super) fn duration_or_off(key: &Key, value: &Value) -> Parsed<Option<Duration>> {
    match scalar(value)? {
        text if is_off(text) || parse_duration(text) == Ok(Duration::ZERO) => Ok(None),
        _ => duration(key, value).map(Some),
    }
}

pub(super) fn size(key: &Key, value: &Value) -> Parsed<usize> {
    let text = scalar(value)?;
    let size = parse_size(text)?;
    let Kind::Size { min } = key.kind else { return Err("takes no size".into()) };
    if size < min {
        return Err(format!("is {text}; it must be at least {min} bytes"));
    }
    usize::try_from(size).map_err(|_| format!("is {text}, more than this machine can address"))
}

pub(super) fn count(key: &Key, value: &Value) -> Parsed<usize> {
    let text = scalar(value)?;
    let count: u64 = text
        .parse()
        .map_err(|_| format!("is `{text}`, which is not a whole number; write it like 512"))?;
    let Kind::Count { min, max, .. } = key.kind else { return Err("takes no number".into()) };
    if count < min || count > max {
        return Err(format!("is {text}; it must be between {min} and {max}"));
    }
    usize::try_from(count).map_err(|_| format!("is {text}, which is too large"))
}

pub(super) fn count_or_off(key: &Key, value: &Value) -> Parsed<Option<usize>> {
    if is_off(scalar(value)?) { Ok(None) } else { count(key, value).map(Some) }
}

/// A list, a single text, or in the environment `a, b` or `[a, b]`.
pub(super) fn list(value: &Value) -> Parsed<Vec<String>> {
    match value {
        Value::List(nodes) => nodes.iter().map(|node| text(&node.value)).collect(),
        Value::Text(source) if source.trim_start().starts_with('[') => list(&structure(source)?),
        Value::Text(source) => {
            source.split(',').map(|item| text(&Value::text(item.trim()))).collect()
        }
        Value::Map(_) => Err("is a section, but takes a list like [a, b]".into()),
        Value::Null => Ok(Vec::new()),
    }
}

/// A list of anything; a text is read as YAML.
pub(super) fn nodes(value: &Value) -> Parsed<Vec<Node>> {
    match value {
        Value::List(nodes) => Ok(nodes.clone()),
        Value::Text(source) if source.trim_start().starts_with('[') => nodes(&structure(source)?),
        _ => Err(r#"takes a list like [{what: "*", where: /}]"#.into()),
    }
}

fn structure(source: &str) -> Parsed<Value> {
    match parse_yaml(source) {
        Ok(node) if !matches!(node.value, Value::Text(_)) => Ok(node.value),
        Ok(_) => Err("takes a list like [a, b]".into()),
        Err(error) => Err(format!("is not valid YAML: {}", error.message)),
    }
}

/// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`.
pub(super) fn address(value: &Value) -> Parsed<SocketAddr> {
    let text = scalar(value)?;
    if let Some(port) = text.strip_prefix("localhost:")
        && let Ok(port) = port.parse()
    {
        return Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, port)));
    }
    text.parse().map_err(|_| {
        format!("is `{text}`; write an IP address and a port, like 127.0.0.1:8080 or [::]:8080")
    })
}
