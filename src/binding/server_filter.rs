//! A `readFilter` as a stage for MongoDB, where the filter cannot be decided in process.

use bson::{Bson, Document, doc};

use crate::definition::FIELD_OPERATORS;

/// The stage that lets only readable documents through: every field below `fullDocument`, and the
/// document's image has to exist. Else a negated filter would let every delete pass.
///
/// # Errors
/// Names the operator that cannot be applied to events.
pub(super) fn stage(filter: &Document) -> Result<Document, String> {
    let guard = doc! { "fullDocument": { "$type": "object" } };
    Ok(doc! { "$match": { "$and": [guard, prefixed(filter)?] } })
}

fn prefixed(filter: &Document) -> Result<Document, String> {
    let mut prefixed = Document::new();
    for (key, value) in filter {
        match key.as_str() {
            "$and" | "$or" => drop(prefixed.insert(key, branches(key, value)?)),
            // A plain $nor fails to open on some servers; one that holds a single $or never does.
            "$nor" => {
                let either = doc! { "$or": branches(key, value)? };
                prefixed.insert(key, vec![either]);
            }
            "$comment" => {}
            operator if operator.starts_with('$') => {
                return Err(unusable(operator));
            }
            field => {
                check_operand(value)?;
                prefixed.insert(format!("fullDocument.{field}"), value);
            }
        }
    }
    Ok(prefixed)
}

/// What a field is compared with: operators if the first key is one, else a value as it stands.
fn check_operand(value: &Bson) -> Result<(), String> {
    match value {
        Bson::Document(document) if is_operators(document) => {
            document.iter().try_for_each(check_operator)
        }
        _ => Ok(()),
    }
}

/// A reference to a document starts with `$` too.
fn is_operators(document: &Document) -> bool {
    document.keys().next().is_some_and(|key| key.starts_with('$') && key != "$ref")
}

fn check_operator((operator, operand): (&String, &Bson)) -> Result<(), String> {
    match (operator.as_str(), operand) {
        ("$not", operand) => check_operand(operand),
        ("$elemMatch", Bson::Document(filter)) => check_elements(filter),
        ("$all", Bson::Array(items)) => items.iter().try_for_each(check_operand),
        // All others are refused by name: some fail when the stream is open, some answer differently each time.
        (known, _) if FIELD_OPERATORS.contains(&known) => Ok(()),
        (unknown, _) => Err(unusable(unknown)),
    }
}

/// Operators on elements, or a filter on elements that are documents.
fn check_elements(filter: &Document) -> Result<(), String> {
    filter.iter().try_for_each(|(key, value)| match (key.as_str(), value) {
        ("$and" | "$or" | "$nor", Bson::Array(filters)) => {
            filters.iter().filter_map(Bson::as_document).try_for_each(check_elements)
        }
        ("$comment", _) => Ok(()),
        (operator, _) if operator.starts_with('$') => check_operator((key, value)),
        _ => check_operand(value),
    })
}

fn unusable(operator: &str) -> String {
    format!("readFilter uses {operator}, which cannot be applied to streams")
}

fn branches(key: &str, value: &Bson) -> Result<Vec<Document>, String> {
    let malformed = || format!("readFilter: {key} takes a list of filters");
    let list = value.as_array().ok_or_else(malformed)?;
    list.iter().map(|branch| prefixed(branch.as_document().ok_or_else(malformed)?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(filter: &Document, expected: &Document) {
        assert_eq!(prefixed(filter).as_ref(), Ok(expected));
    }

    #[test]
    fn fields_are_those_of_the_document() {
        check(
            &doc! { "a": 1, "b.c": { "$gt": 2 } },
            &doc! { "fullDocument.a": 1, "fullDocument.b.c": { "$gt": 2 } },
        );
        check(
            &doc! { "$or": [{ "a": 1 }, { "$and": [{ "b": 2 }] }] },
            &doc! { "$or": [{ "fullDocument.a": 1 }, { "$and": [{ "fullDocument.b": 2 }] }] },
        );
        check(
            &doc! { "$nor": [{ "a": 1 }] },
            &doc! { "$nor": [{ "$or": [{ "fullDocument.a": 1 }] }] },
        );
        // Keys inside a value are the document's own.
        let within = doc! { "$elemMatch": { "a": 1 } };
        check(&doc! { "l": within.clone() }, &doc! { "fullDocument.l": within });
        let operators =
            doc! { "$not": { "$all": [{ "$elemMatch": { "$gt": 1 } }] }, "$bitsAllSet": 1 };
        check(&doc! { "l": operators.clone() }, &doc! { "fullDocument.l": operators });
        let reference = doc! { "$ref": "c", "$id": 1 };
        check(&doc! { "l": reference.clone() }, &doc! { "fullDocument.l": reference });
    }

    #[test]
    fn what_cannot_be_applied_is_named() {
        for filter in [
            doc! { "$where": "true" },
            doc! { "$text": { "$search": "x" } },
            doc! { "$jsonSchema": {} },
            doc! { "$and": [{ "$where": "true" }] },
            doc! { "$expr": { "$eq": ["$a", 1] } },
            doc! { "$or": [{ "$expr": { "$eq": ["$a", 1] } }] },
            doc! { "$or": 1 },
            doc! { "a": { "$near": [0, 0] } },
            doc! { "a": { "$not": { "$gt": 1, "$near": [0, 0] } } },
            doc! { "a": { "$elemMatch": { "b": { "$where": "true" } } } },
            doc! { "a": { "$elemMatch": { "$or": [{ "$where": "true" }] } } },
            doc! { "a": { "$all": [{ "$elemMatch": { "$nonsense": 1 } }] } },
        ] {
            assert!(prefixed(&filter).is_err(), "{filter}");
        }
    }
}
