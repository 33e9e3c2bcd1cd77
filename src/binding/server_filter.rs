//! A `readFilter` as a stage for MongoDB, where the filter cannot be decided in process.

use bson::{Bson, Document, doc};

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
            "$expr" => drop(prefixed.insert(key, expression(value)?)),
            "$comment" => {}
            operator if operator.starts_with('$') => {
                return Err(format!(
                    "readFilter uses {operator}, which cannot be applied to streams"
                ));
            }
            field => drop(prefixed.insert(format!("fullDocument.{field}"), value)),
        }
    }
    Ok(prefixed)
}

fn branches(key: &str, value: &Bson) -> Result<Vec<Document>, String> {
    let malformed = || format!("readFilter: {key} takes a list of filters");
    let list = value.as_array().ok_or_else(malformed)?;
    list.iter().map(|branch| prefixed(branch.as_document().ok_or_else(malformed)?)).collect()
}

/// Lets `"$field"` mean the document's field instead of the event's.
fn expression(value: &Bson) -> Result<Document, String> {
    let text = value.to_string();
    if text.contains("$$ROOT") || text.contains("$$CURRENT") {
        return Err("readFilter uses $$ROOT or $$CURRENT in $expr; name the fields".to_owned());
    }
    Ok(doc! { "$let": { "vars": { "CURRENT": "$fullDocument" }, "in": value } })
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
    }

    #[test]
    fn what_cannot_be_applied_is_named() {
        for filter in [
            doc! { "$where": "true" },
            doc! { "$text": { "$search": "x" } },
            doc! { "$jsonSchema": {} },
            doc! { "$and": [{ "$where": "true" }] },
            doc! { "$expr": { "$eq": ["$$ROOT.a", 1] } },
            doc! { "$or": 1 },
        ] {
            assert!(prefixed(&filter).is_err(), "{filter}");
        }
    }
}
