use bson::{Bson, Document};

/// Follows a dotted path through documents and, by index, through arrays.
pub(super) fn find<'a>(document: &'a Document, path: &str) -> Option<&'a Bson> {
    let mut names = path.split('.');
    let first = document.get(names.next()?)?;
    names.try_fold(first, step)
}

fn step<'a>(value: &'a Bson, name: &str) -> Option<&'a Bson> {
    match value {
        Bson::Document(document) => document.get(name),
        Bson::Array(items) => items.get(name.parse::<usize>().ok()?),
        _ => None,
    }
}

/// The text by which a value is compared in a predicate: nothing for `null`, documents and arrays.
pub(super) fn scalar_text(value: &Bson) -> Option<String> {
    match value {
        Bson::String(text) | Bson::Symbol(text) => Some(text.clone()),
        Bson::Boolean(flag) => Some(flag.to_string()),
        Bson::Int32(number) => Some(number.to_string()),
        Bson::Int64(number) => Some(number.to_string()),
        Bson::Double(number) => Some(number_text(*number)),
        Bson::Decimal128(number) => Some(number.to_string()),
        Bson::ObjectId(id) => Some(id.to_hex()),
        Bson::Binary(binary) => binary.to_uuid().ok().map(|uuid| uuid.to_string()),
        Bson::DateTime(date) => Some(date.timestamp_millis().to_string()),
        _ => None,
    }
}

/// `3`, not `3.0`: what a shell stored as a double was typed as an integer.
fn number_text(number: f64) -> String {
    format!("{number}")
}

#[cfg(test)]
mod tests {
    use bson::doc;
    use bson::oid::ObjectId;

    use super::*;

    #[test]
    fn follows_dotted_paths() {
        let user = doc! { "a": { "b": [ { "c": 7 } ] }, "x.y": 1 };
        let check = |path: &str, expected: Option<Bson>| {
            assert_eq!(find(&user, path).cloned(), expected, "{path}");
        };
        check("a.b.0.c", Some(Bson::Int32(7)));
        check("a.b.1.c", None);
        check("a.b.c", None);
        check("a.b.-1", None);
        check("x.y", None);
        check("", None);
    }

    #[test]
    fn writes_scalars_as_text() {
        let check = |value: Bson, expected: Option<&str>| {
            assert_eq!(scalar_text(&value).as_deref(), expected, "{value:?}");
        };
        check(Bson::Double(3.0), Some("3"));
        check(Bson::Double(2.5), Some("2.5"));
        check(Bson::Int64(-4), Some("-4"));
        check(Bson::Boolean(true), Some("true"));
        check(Bson::ObjectId(ObjectId::from_bytes([1; 12])), Some("010101010101010101010101"));
        check(Bson::DateTime(bson::DateTime::from_millis(5)), Some("5"));
        check(Bson::Null, None);
        check(Bson::Document(doc! {}), None);
    }
}
