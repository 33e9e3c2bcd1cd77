//! What a client binds is data: values MongoDB compares, never operators, patterns or code.

use bson::{Bson, Document};

/// Refuses operators (a key starting with `$`, at any depth), patterns, code and the types that
/// exist only inside MongoDB. `Err` names the culprit.
pub(crate) fn check_data(value: &Bson) -> Result<(), String> {
    match value {
        Bson::Document(document) => check_document(document),
        Bson::Array(array) => array.iter().try_for_each(check_data),
        other => match foreign(other) {
            Some(kind) => Err(format!("variables cannot hold a {kind}")),
            None => Ok(()),
        },
    }
}

fn check_document(document: &Document) -> Result<(), String> {
    document.iter().try_for_each(|(key, value)| {
        if key.starts_with('$') {
            return Err(format!("variables cannot include operators such as `{key}`"));
        }
        if key.contains('\0') {
            return Err("variables cannot hold a field name with a NUL character".to_owned());
        }
        check_data(value)
    })
}

/// A pattern would match more than the value it is compared to, a MinKey or MaxKey would open
/// every range, code would run; none of them is data a client has reason to compare with.
fn foreign(value: &Bson) -> Option<&'static str> {
    match value {
        Bson::RegularExpression(_) => Some("regular expression"),
        Bson::JavaScriptCode(_) | Bson::JavaScriptCodeWithScope(_) => Some("piece of code"),
        Bson::Symbol(_) => Some("symbol"),
        Bson::DbPointer(_) => Some("DBPointer"),
        Bson::Undefined => Some("value of type undefined"),
        Bson::MinKey | Bson::MaxKey => Some("MinKey or MaxKey"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use bson::{Regex, bson, oid::ObjectId};

    use super::*;

    #[test]
    fn data_passes() {
        for value in [
            bson!(1),
            bson!(1.5),
            bson!("$fullDocument.secret"),
            bson!(null),
            bson!(true),
            bson!([1, [2, {"a": {"b": [3]}}]]),
            bson!({"a.b": 1, "": 2, "a$b": 3, "_$x": 4}),
            Bson::ObjectId(ObjectId::new()),
            Bson::DateTime(bson::DateTime::from_millis(0)),
        ] {
            assert_eq!(check_data(&value), Ok(()), "{value}");
        }
    }

    #[test]
    fn operators_patterns_and_code_do_not() {
        let part = |text: &str| text.try_into().unwrap();
        let regex = Regex { pattern: part(".*"), options: part("i") };
        for value in [
            bson!({"$ne": null}),
            bson!({"$regex": ".*"}),
            bson!({"\u{24}exists": true}),
            bson!({"a": {"b": [{"$gt": ""}]}}),
            bson!([[{"$where": "1"}]]),
            bson!({"$ref": "c", "$id": 1}),
            bson!({"$": 1}),
            bson!({"a\0b": 1}),
            Bson::RegularExpression(regex.clone()),
            bson!([{"a": (Bson::RegularExpression(regex))}]),
            Bson::JavaScriptCode("1".into()),
            Bson::Symbol("x".into()),
            Bson::Undefined,
            Bson::MinKey,
            bson!([(Bson::MaxKey)]),
        ] {
            assert!(check_data(&value).is_err(), "{value}");
        }
    }
}
