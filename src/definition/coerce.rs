//! What a plain query parameter can mean.

use bson::oid::ObjectId;
use bson::spec::BinarySubtype;
use bson::{Binary, Bson, DateTime, Decimal128, Uuid};

/// Every value that a plain `?name=text` stands for in `notify_when`: the string itself first, then
/// what it spells.
///
/// | text | also means |
/// |---|---|
/// | a number as JSON writes it: `42`, `-1.5`, `1e3` | the number, equal by value across number types |
/// | `true`, `false` | the boolean |
/// | 24 hexadecimal digits | the ObjectId |
/// | `8-4-4-4-12` hexadecimal digits | the UUID (binary subtype 4) |
/// | an ISO 8601 date, time and offset: `2024-05-01T12:00:00Z` | that instant |
///
/// A text has no other reading: `null`, `007`, `+1`, `NaN`, `TRUE` and a date without time are only
/// strings. A client that wants exactly one type binds it through `avars`.
pub(crate) fn readings(text: &str) -> Vec<Bson> {
    let mut readings = vec![Bson::String(text.to_owned())];
    readings.extend(numbers(text));
    readings.extend(boolean(text));
    readings.extend(object_id(text));
    readings.extend(uuid(text));
    readings.extend(instant(text));
    readings
}

/// A fraction is two values: the double nearest to it, and the decimal that is exactly it.
fn numbers(text: &str) -> Vec<Bson> {
    if !is_json_number(text) {
        return Vec::new();
    }
    if let Ok(whole) = text.parse::<i64>() {
        return vec![Bson::Int64(whole)];
    }
    let double = text.parse::<f64>().ok().filter(|number| number.is_finite()).map(Bson::Double);
    let decimal = text.parse::<Decimal128>().ok().map(Bson::Decimal128);
    double.into_iter().chain(decimal).collect()
}

fn is_json_number(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    // Longer texts hold more digits than any number type; they are identifiers.
    starts && text.len() <= 40 && serde_json::from_str::<serde_json::Number>(text).is_ok()
}

fn boolean(text: &str) -> Option<Bson> {
    match text {
        "true" => Some(Bson::Boolean(true)),
        "false" => Some(Bson::Boolean(false)),
        _ => None,
    }
}

fn object_id(text: &str) -> Option<Bson> {
    let hex = text.len() == 24 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    hex.then(|| ObjectId::parse_str(text).ok().map(Bson::ObjectId))?
}

fn uuid(text: &str) -> Option<Bson> {
    let dashes = |(position, byte): (usize, u8)| match position {
        8 | 13 | 18 | 23 => byte == b'-',
        _ => byte.is_ascii_hexdigit(),
    };
    let spelled = text.len() == 36 && text.bytes().enumerate().all(dashes);
    let uuid = spelled.then(|| Uuid::parse_str(text).ok())??;
    let bytes = uuid.bytes().to_vec();
    Some(Bson::Binary(Binary { subtype: BinarySubtype::Uuid, bytes }))
}

fn instant(text: &str) -> Option<Bson> {
    let dated = text.len() <= 35 && text.as_bytes().get(10) == Some(&b'T');
    dated.then(|| DateTime::parse_rfc3339_str(text).ok().map(Bson::DateTime))?
}

#[cfg(test)]
mod tests {
    use bson::bson;

    use super::*;

    fn also(text: &str) -> Vec<Bson> {
        let mut readings = readings(text);
        assert_eq!(readings.remove(0), Bson::String(text.to_owned()));
        readings
    }

    #[test]
    fn texts_spell_values() {
        let decimal = |text: &str| Bson::Decimal128(text.parse().unwrap());
        let oid = ObjectId::parse_str("5f9d88b9a9f8e8b0c0a1b2c3").unwrap();
        let uuid = Uuid::parse_str("123e4567-e89b-12d3-a456-426614174000").unwrap();
        for (text, expected) in [
            ("42", vec![Bson::Int64(42)]),
            ("-7", vec![Bson::Int64(-7)]),
            ("0", vec![Bson::Int64(0)]),
            ("9223372036854775807", vec![Bson::Int64(i64::MAX)]),
            (
                "9223372036854775808",
                vec![bson!(9223372036854775808.0), decimal("9223372036854775808")],
            ),
            ("0.1", vec![bson!(0.1), decimal("0.1")]),
            ("42.0", vec![bson!(42.0), decimal("42.0")]),
            ("1e3", vec![bson!(1000.0), decimal("1e3")]),
            ("true", vec![bson!(true)]),
            ("false", vec![bson!(false)]),
            ("5f9d88b9a9f8e8b0c0a1b2c3", vec![Bson::ObjectId(oid)]),
            ("5F9D88B9A9F8E8B0C0A1B2C3", vec![Bson::ObjectId(oid)]),
            ("123e4567-e89b-12d3-a456-426614174000", vec![uuid.into()]),
            ("1970-01-01T00:00:01Z", vec![DateTime::from_millis(1000).into()]),
            ("1970-01-01T01:00:00.25+01:00", vec![DateTime::from_millis(250).into()]),
        ] {
            assert_eq!(also(text), expected, "{text}");
        }
    }

    #[test]
    fn a_text_of_digits_can_be_number_and_object_id() {
        let readings = also("123456789012345678901234");
        assert!(readings.iter().any(|value| matches!(value, Bson::ObjectId(_))));
        assert!(readings.iter().any(|value| matches!(value, Bson::Decimal128(_))));
    }

    #[test]
    fn other_texts_are_only_strings() {
        for text in [
            "",
            " ",
            "acme",
            "007",
            "+1",
            "1.",
            ".5",
            "0x1F",
            "1_000",
            "NaN",
            "Infinity",
            "-",
            "--1",
            "1e",
            " 42",
            "42 ",
            "null",
            "TRUE",
            "True",
            "yes",
            "5f9d88b9a9f8e8b0c0a1b2c",
            "5f9d88b9a9f8e8b0c0a1b2cg",
            "123e4567e89b12d3a456426614174000",
            "2024-05-01",
            "2024-05-01T12:00:00",
            "2024-13-01T12:00:00Z",
            "[1]",
            "{}",
            "é-----------------------",
        ] {
            assert_eq!(also(text), [], "{text}");
        }
    }
}
