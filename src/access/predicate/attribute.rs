use super::arguments::Item;
use super::error::PredicateProblem as Problem;
use crate::access::variable::Variable;

/// A value taken from the request, like `%R` or `prefix-%{i,Host}`, or a variable.
#[derive(Debug, Clone)]
pub(super) enum Attribute {
    Variable(Variable),
    /// Joined; a part without a value vanishes, unless it is the only one.
    Parts(Vec<Part>),
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Part {
    Literal(String),
    /// `${name}`: bound by an earlier `path-template`, `path-prefix` or `regex`.
    Context(String),
    Header(String),
    Parameter(String),
    Cookie(String),
    RemoteIp,
    LocalIp,
    LocalPort,
    LocalName,
    Method,
    RawPath,
    Path,
    /// With the question mark, unless empty.
    Query,
    BareQuery,
    User,
    RequestLine,
    Protocol,
    Scheme,
    Secure,
    HostAndPort,
    /// What is not known of a request that is not answered yet.
    Null,
}

impl Attribute {
    pub(super) fn new(item: Item) -> Result<Self, Problem> {
        match item {
            Item::Variable(variable) => Ok(Self::Variable(variable)),
            Item::Text(text) => parts(&text).map(Self::Parts),
        }
    }
}

fn parts(text: &str) -> Result<Vec<Part>, Problem> {
    let (mut parts, mut literal, mut rest) = (Vec::new(), String::new(), text);
    while let Some(sign) = rest.chars().next() {
        rest = &rest[sign.len_utf8()..];
        if sign != '%' && sign != '$' {
            literal.push(sign);
            continue;
        }
        let token = token(sign, rest, text)?;
        rest = &rest[token.len..];
        match token.part {
            Part::Literal(text) => literal.push_str(&text),
            part => {
                flush(&mut literal, &mut parts);
                parts.push(part);
            }
        }
    }
    if !literal.is_empty() || parts.is_empty() {
        parts.push(Part::Literal(literal));
    }
    Ok(parts)
}

fn flush(literal: &mut String, parts: &mut Vec<Part>) {
    if !literal.is_empty() {
        parts.push(Part::Literal(std::mem::take(literal)));
    }
}

struct Read {
    part: Part,
    /// Bytes after the sign.
    len: usize,
}

fn token(sign: char, rest: &str, text: &str) -> Result<Read, Problem> {
    let unknown = || Problem::UnknownAttribute(text.to_owned());
    if rest.starts_with('{') {
        let end = closing(rest).ok_or_else(unknown)?;
        let name = &rest[1..end];
        let part = match sign {
            '$' => Some(Part::Context(name.to_owned())),
            _ => long(name),
        };
        return Ok(Read { part: part.ok_or_else(unknown)?, len: end + 1 });
    }
    let letter = rest.chars().next().ok_or_else(unknown)?;
    let part = match letter {
        _ if letter == sign => Part::Literal(sign.to_string()),
        _ if sign == '%' && letter.is_ascii_alphabetic() => short(letter).ok_or_else(unknown)?,
        _ => Part::Literal(format!("{sign}{letter}")),
    };
    Ok(Read { part, len: letter.len_utf8() })
}

/// Where the brace that opens `text` is closed; braces may nest.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 1 => return Some(at),
            '}' => depth -= 1,
            _ => {}
        }
    }
    None
}

fn short(letter: char) -> Option<Part> {
    Some(match letter {
        'a' | 'h' => Part::RemoteIp,
        'A' => Part::LocalIp,
        'p' => Part::LocalPort,
        'v' => Part::LocalName,
        'm' => Part::Method,
        'U' => Part::RawPath,
        'R' => Part::Path,
        'q' => Part::Query,
        'u' => Part::User,
        'r' => Part::RequestLine,
        'H' => Part::Protocol,
        'b' | 'B' | 's' | 'D' | 'T' | 'I' | 'l' | 'o' | 't' => Part::Null,
        _ => return None,
    })
}

fn long(name: &str) -> Option<Part> {
    if let Some((kind, argument)) = name.split_once(',') {
        return parameterized(kind, argument);
    }
    Some(match name {
        "REMOTE_IP" | "REMOTE_HOST" => Part::RemoteIp,
        "LOCAL_IP" => Part::LocalIp,
        "LOCAL_PORT" => Part::LocalPort,
        "LOCAL_SERVER_NAME" => Part::LocalName,
        "METHOD" => Part::Method,
        "REQUEST_URL" => Part::RawPath,
        "RELATIVE_PATH" | "REQUEST_PATH" => Part::Path,
        "QUERY_STRING" => Part::Query,
        "BARE_QUERY_STRING" => Part::BareQuery,
        "REMOTE_USER" => Part::User,
        "REQUEST_LINE" => Part::RequestLine,
        "PROTOCOL" => Part::Protocol,
        "SCHEME" => Part::Scheme,
        "SECURE" => Part::Secure,
        "HOST_AND_PORT" => Part::HostAndPort,
        "DATE_TIME" | "AUTHENTICATION_TYPE" | "NULL" => Part::Null,
        _ if name.starts_with("SSL_") => Part::Null,
        _ => return None,
    })
}

fn parameterized(kind: &str, argument: &str) -> Option<Part> {
    Some(match kind {
        "i" => Part::Header(argument.to_ascii_lowercase()),
        "q" => Part::Parameter(argument.to_owned()),
        "c" | "req-cookie" => Part::Cookie(argument.to_owned()),
        "o" | "p" | "time" => Part::Null,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_parts() {
        let check = |text: &str, expected: &[Part]| {
            assert_eq!(parts(text).unwrap(), expected, "{text}");
        };
        let literal = |text: &str| Part::Literal(text.to_owned());
        check("", &[literal("")]);
        check("plain", &[literal("plain")]);
        check("%R", &[Part::Path]);
        check("%%R", &[literal("%R")]);
        check("$$x", &[literal("$x")]);
        check("a-%u-b", &[literal("a-"), Part::User, literal("-b")]);
        check("${u}${1}", &[Part::Context("u".into()), Part::Context("1".into())]);
        check("%{i,X-K}", &[Part::Header("x-k".into())]);
        check("%{q,a{b}c}", &[Part::Parameter("a{b}c".into())]);
        check("$1", &[literal("$1")]);
        check("100%5", &[literal("100%5")]);
    }

    #[test]
    fn refuses_what_no_request_has() {
        for text in ["%", "$", "x%", "%{", "${a", "%{i,{x}", "%z", "%{REMOTE_USR}", "%{zz,a}"] {
            assert!(parts(text).is_err(), "{text}");
        }
    }
}
