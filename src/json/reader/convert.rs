//! What stands in a wrapper or between a constructor's parentheses, as the BSON that it means.
//!
//! `None` says that it does not fit; the tables in `wrapper` and `call` say what would.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bson::oid::ObjectId;
use bson::{
    Binary, Bson, DateTime, Decimal128, Document, JavaScriptCodeWithScope, Regex, Timestamp,
};

use super::date::parse_iso;

pub(super) fn object_id(values: &[Bson]) -> Option<Bson> {
    let [Bson::String(hex)] = values else { return None };
    ObjectId::parse_str(hex).ok().map(Bson::ObjectId)
}

/// Milliseconds since the epoch, or ISO 8601 text.
pub(super) fn date(values: &[Bson]) -> Option<Bson> {
    let millis = match values {
        [Bson::Int32(millis)] => i64::from(*millis),
        [Bson::Int64(millis)] => *millis,
        [Bson::String(text)] => parse_iso(text)?,
        _ => return None,
    };
    Some(Bson::DateTime(DateTime::from_millis(millis)))
}

pub(super) fn int64(values: &[Bson]) -> Option<Bson> {
    whole(values).map(Bson::Int64)
}

pub(super) fn int32(values: &[Bson]) -> Option<Bson> {
    i32::try_from(whole(values)?).ok().map(Bson::Int32)
}

fn whole(values: &[Bson]) -> Option<i64> {
    match values {
        [Bson::Int32(number)] => Some((*number).into()),
        [Bson::Int64(number)] => Some(*number),
        [Bson::String(text)] => text.parse().ok(),
        _ => None,
    }
}

pub(super) fn double(values: &[Bson]) -> Option<Bson> {
    let number = match values {
        [Bson::Int32(number)] => f64::from(*number),
        [Bson::Int64(number)] => *number as f64,
        [Bson::Double(number)] => *number,
        [Bson::String(text)] => double_text(text)?,
        _ => return None,
    };
    Some(Bson::Double(number))
}

fn double_text(text: &str) -> Option<f64> {
    match text {
        "NaN" => Some(f64::NAN),
        "Infinity" => Some(f64::INFINITY),
        "-Infinity" => Some(f64::NEG_INFINITY),
        _ => text.parse().ok().filter(|number: &f64| number.is_finite()),
    }
}

pub(super) fn decimal128(values: &[Bson]) -> Option<Bson> {
    let text = match values {
        [Bson::Int32(number)] => number.to_string(),
        [Bson::Int64(number)] => number.to_string(),
        [Bson::Double(number)] => number.to_string(),
        [Bson::String(text)] => text.clone(),
        _ => return None,
    };
    is_decimal(&text).then(|| text.parse::<Decimal128>().ok().map(Bson::Decimal128))?
}

/// The parser behind it takes text without any digit, such as "." or "-", for zero.
fn is_decimal(text: &str) -> bool {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let coefficient = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let is_plain = coefficient.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let is_number = is_plain && coefficient.bytes().any(|byte| byte.is_ascii_digit());
    is_number || matches!(text, "NaN" | "Infinity" | "-Infinity")
}

pub(super) fn uuid(values: &[Bson]) -> Option<Bson> {
    let [Bson::String(text)] = values else { return None };
    bson::Uuid::parse_str(text).ok().map(|uuid| Bson::Binary(Binary::from_uuid(uuid)))
}

/// `[{base64, subType}]`, or the legacy pair of base64 text and subtype.
pub(super) fn binary(values: &[Bson]) -> Option<Bson> {
    match values {
        [Bson::Document(body)] => {
            let [base64, subtype] = fields(body, ["base64", "subType"])?;
            legacy_binary(base64, subtype)
        }
        [base64, subtype] => legacy_binary(base64, subtype),
        _ => None,
    }
}

/// The shell's order: subtype, then base64 text.
pub(super) fn bin_data(values: &[Bson]) -> Option<Bson> {
    let [subtype, base64] = values else { return None };
    legacy_binary(base64, subtype)
}

fn legacy_binary(base64: &Bson, subtype: &Bson) -> Option<Bson> {
    let bytes = STANDARD.decode(base64.as_str()?).ok()?;
    let subtype = match subtype {
        Bson::String(hex) if !hex.starts_with('+') => u8::from_str_radix(hex, 16).ok()?,
        Bson::Int32(number) => u8::try_from(*number).ok()?,
        _ => return None,
    };
    Some(Bson::Binary(Binary { subtype: subtype.into(), bytes }))
}

/// `[{t, i}]` or `[t, i]`.
pub(super) fn timestamp(values: &[Bson]) -> Option<Bson> {
    let [time, increment] = match values {
        [Bson::Document(body)] => fields(body, ["t", "i"])?,
        [time, increment] => [time, increment],
        _ => return None,
    };
    let part = |value: &Bson| match value {
        Bson::Int32(number) => u32::try_from(*number).ok(),
        Bson::Int64(number) => u32::try_from(*number).ok(),
        _ => None,
    };
    Some(Bson::Timestamp(Timestamp { time: part(time)?, increment: part(increment)? }))
}

/// `[{pattern, options}]`, `[pattern, options]` or `[pattern]`.
pub(super) fn regular_expression(values: &[Bson]) -> Option<Bson> {
    match values {
        [Bson::Document(body)] => {
            let [pattern, options] = fields(body, ["pattern", "options"])?;
            regex(pattern.as_str()?, options.as_str()?)
        }
        [Bson::String(pattern)] => regex(pattern, ""),
        [Bson::String(pattern), Bson::String(options)] => regex(pattern, options),
        _ => None,
    }
}

/// Exactly two strings: with anything else, `$regex` is an operator.
pub(super) fn legacy_regex(values: &[Bson]) -> Option<Bson> {
    let [Bson::String(pattern), Bson::String(options)] = values else { return None };
    regex(pattern, options)
}

/// BSON keeps options in alphabetical order; neither part can hold NUL.
pub(super) fn regex(pattern: &str, options: &str) -> Option<Bson> {
    let mut options: Vec<char> = options.chars().collect();
    options.sort_unstable();
    let options = String::from_iter(options).try_into().ok()?;
    let pattern = pattern.to_owned().try_into().ok()?;
    Some(Bson::RegularExpression(Regex { pattern, options }))
}

pub(super) fn symbol(values: &[Bson]) -> Option<Bson> {
    let [Bson::String(text)] = values else { return None };
    Some(Bson::Symbol(text.clone()))
}

/// `[code]` or `[code, scope]`.
pub(super) fn code(values: &[Bson]) -> Option<Bson> {
    match values {
        [Bson::String(code)] => Some(Bson::JavaScriptCode(code.clone())),
        [Bson::String(code), Bson::Document(scope)] => {
            let (code, scope) = (code.clone(), scope.clone());
            Some(Bson::JavaScriptCodeWithScope(JavaScriptCodeWithScope { code, scope }))
        }
        _ => None,
    }
}

pub(super) fn undefined(values: &[Bson]) -> Option<Bson> {
    matches!(values, [Bson::Boolean(true)]).then_some(Bson::Undefined)
}

pub(super) fn min_key(values: &[Bson]) -> Option<Bson> {
    matches!(values, [] | [Bson::Int32(1)]).then_some(Bson::MinKey)
}

pub(super) fn max_key(values: &[Bson]) -> Option<Bson> {
    matches!(values, [] | [Bson::Int32(1)]).then_some(Bson::MaxKey)
}

/// `[{$ref, $id}]` or `[namespace, id]`.
pub(super) fn db_pointer(values: &[Bson]) -> Option<Bson> {
    let [namespace, id] = match values {
        [Bson::Document(body)] => fields(body, ["$ref", "$id"])?,
        [namespace, id] => [namespace, id],
        _ => return None,
    };
    let (namespace, id) = (namespace.as_str()?, id.as_object_id()?.to_hex());
    // `bson` has no constructor for this deprecated type but its own Extended JSON.
    let json = serde_json::json!({"$dbPointer": {"$ref": namespace, "$id": {"$oid": id}}});
    Bson::try_from(json).ok()
}

/// The values of exactly these two keys, in any order.
fn fields<'a>(body: &'a Document, keys: [&str; 2]) -> Option<[&'a Bson; 2]> {
    let [first, second] = keys;
    let both = [body.get(first)?, body.get(second)?];
    (body.len() == 2).then_some(both)
}
