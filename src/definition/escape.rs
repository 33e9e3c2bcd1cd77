//! How `stages` are written so that every MongoDB and every RESTHeart can store and read them.
//!
//! Reading accepts both spellings, mixed at will: a key that starts with `_$` loses the underscore,
//! `::` in a key becomes a dot, and a *string value* that starts with `_$` loses its underscore.
//! `notify_when` and `uri` are never unescaped; values that variables bind are not either.
//!
//! One weakness is inherited and kept, because stored definitions depend on it: a string that
//! really begins with `_$` cannot be written, since `"_$fullDocument.n"` means
//! `"$fullDocument.n"` everywhere (the spelling `__$x` cannot be given away either, it already means
//! itself). Where such a text is wanted, build it in an expression:
//! `{"$concat": ["_", {"$literal": "$fullDocument.n"}]}`.

use bson::{Array, Bson, Document};

use super::error::DefinitionError;
use super::path::At;

/// The plain form of a stage, or of any value inside one. Already plain values come back unchanged.
/// Of two keys that become equal the later one wins, in the place of the first.
pub fn unescape(value: &Bson) -> Bson {
    match value {
        Bson::String(text) => Bson::String(unescape_text(text).to_owned()),
        Bson::Array(array) => Bson::Array(array.iter().map(unescape).collect()),
        Bson::Document(document) => Bson::Document(unescape_document(document)),
        other => other.clone(),
    }
}

fn unescape_document(document: &Document) -> Document {
    document.iter().map(|(key, value)| (unescape_key(key), unescape(value))).collect()
}

pub(crate) fn unescape_key(key: &str) -> String {
    unescape_text(key).replace("::", ".")
}

fn unescape_text(text: &str) -> &str {
    if text.starts_with("_$") { &text[1..] } else { text }
}

/// The stored form of plain `stages`: `$` at the start of a key becomes `_$`, each dot in a key
/// `::`. Strings stay as they are: no reader needs them escaped.
///
/// # Errors
/// When a key or string has no stored form that reads back as itself.
pub fn escape_stages(stages: &[Bson]) -> Result<Array, DefinitionError> {
    stages.iter().enumerate().map(|(index, stage)| escape(stage).at(index).at("stages")).collect()
}

fn escape(value: &Bson) -> Result<Bson, DefinitionError> {
    match value {
        Bson::String(text) => {
            round_trip(text, text.clone(), |text| unescape_text(text).to_owned()).map(Bson::String)
        }
        Bson::Array(array) => escape_array(array).map(Bson::Array),
        Bson::Document(document) => escape_document(document).map(Bson::Document),
        other => Ok(other.clone()),
    }
}

fn escape_array(array: &[Bson]) -> Result<Array, DefinitionError> {
    array.iter().enumerate().map(|(index, value)| escape(value).at(index)).collect()
}

fn escape_document(document: &Document) -> Result<Document, DefinitionError> {
    let escape_entry = |(key, value): (&String, &Bson)| {
        let escaped = round_trip(key, escape_key(key), unescape_key).at(key.as_str())?;
        Ok((escaped, escape(value).at(key.as_str())?))
    };
    document.iter().map(escape_entry).collect()
}

fn escape_key(key: &str) -> String {
    let underscore = if key.starts_with('$') { "_" } else { "" };
    format!("{underscore}{}", key.replace('.', "::"))
}

/// Refuses what would read back differently, such as the key `a:.b` or the text `_$x`.
fn round_trip(
    plain: &str,
    escaped: String,
    read_back: impl Fn(&str) -> String,
) -> Result<String, DefinitionError> {
    if read_back(&escaped) == plain {
        return Ok(escaped);
    }
    let reason =
        format!("`{plain}` cannot be stored in a form that reads back as itself; rename it");
    Err(DefinitionError::new(reason))
}

#[cfg(test)]
mod tests {
    use bson::bson;

    use super::*;

    #[test]
    fn keys_are_unescaped() {
        for (stored, plain) in [
            ("_$match", "$match"),
            ("$match", "$match"),
            ("_$$ROOT", "$$ROOT"),
            ("__$x", "__$x"),
            ("a::_$b", "a._$b"),
            ("a::b::c", "a.b.c"),
            ("a:::b", "a.:b"),
            ("a::::b", "a..b"),
            ("a.b", "a.b"),
            ("a_$b", "a_$b"),
            ("_", "_"),
            ("", ""),
            ("::", "."),
        ] {
            assert_eq!(unescape_key(stored), plain, "{stored}");
        }
    }

    #[test]
    fn values_are_unescaped_everywhere_but_keep_their_colons() {
        let stored = bson!({"_$set": {
            "fullDocument::div": {"_$divide": [1, "_$fullDocument.n"]},
            "text": ["$a::b", "_$$ROOT", "__$x", ["_$deep"]],
            "n": 1.5,
        }});
        let plain = bson!({"$set": {
            "fullDocument.div": {"$divide": [1, "$fullDocument.n"]},
            "text": ["$a::b", "$$ROOT", "__$x", ["$deep"]],
            "n": 1.5,
        }});
        assert_eq!(unescape(&stored), plain);
        assert_eq!(unescape(&plain), plain, "plain form stays");
    }

    #[test]
    fn of_colliding_keys_the_later_wins() {
        let both = bson!({"a.b": 1, "c": 2, "a::b": 3});
        assert_eq!(unescape(&both), bson!({"a.b": 3, "c": 2}));
    }

    #[test]
    fn escaping_reads_back() {
        let plain = vec![
            bson!({"$match": {"fullDocument.name": {"$var": "n"}, "$or": [{"a.b.c": 1}, {"x": "$y"}]}}),
            bson!({"$set": {"a": ["$x", {"$literal": "$z"}]}}),
        ];
        let stored = escape_stages(&plain).unwrap();
        let expected = bson!({"_$match": {
            "fullDocument::name": {"_$var": "n"},
            "_$or": [{"a::b::c": 1}, {"x": "$y"}],
        }});
        assert_eq!(stored[0], expected);
        assert_eq!(stored.iter().map(unescape).collect::<Vec<_>>(), plain);
    }

    #[test]
    fn what_cannot_read_back_is_refused_with_its_place() {
        for (stage, place) in [
            (bson!({"$set": {"a:.b": 1}}), "stages[0].$set.a:.b"),
            (bson!({"$set": {"a::b": 1}}), "stages[0].$set.a::b"),
            (bson!({"$set": {"_$b": 1}}), "stages[0].$set._$b"),
            (bson!({"$set": {"a": ["_$b"]}}), "stages[0].$set.a[0]"),
        ] {
            let error = escape_stages(&[stage]).unwrap_err();
            assert_eq!(error.path.to_string(), place);
            assert!(error.reason.contains("rename"), "{error}");
        }
    }
}
