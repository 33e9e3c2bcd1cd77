//! What of a collection nobody is shown, whatever a permission says.

use bson::{Bson, Document, doc};

use super::Cut;

/// Fields at the root of documents: hashes of passwords, and codes that stand for one. The default
/// hides nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Secrets {
    names: Vec<String>,
    /// Fields whose names begin like this.
    prefixes: Vec<String>,
}

impl Secrets {
    /// Hides the fields of these names, and those whose names start with one of the prefixes.
    pub fn new(names: &[&str], prefixes: &[&str]) -> Self {
        let owned = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
        Self { names: owned(names), prefixes: owned(prefixes) }
    }

    /// Whether there is nothing to hide.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && self.prefixes.is_empty()
    }

    /// Whether a path, dotted, is in or under a hidden field.
    pub fn hides(&self, path: &str) -> bool {
        let root = path.split('.').next().unwrap_or(path);
        self.names.iter().any(|name| name == root)
            || self.prefixes.iter().any(|prefix| root.starts_with(prefix.as_str()))
    }

    /// What takes them out of documents and events. `None`: there is nothing to take out.
    pub fn cut(&self) -> Option<Cut> {
        let names = self.names.iter().map(String::as_str);
        (!self.is_empty()).then(|| Cut::excluding(names).and_prefixes(&self.prefixes))
    }

    /// Tells one set of secrets from another.
    pub(super) fn identity(&self) -> Document {
        doc! { "names": self.names.clone(), "prefixes": self.prefixes.clone() }
    }

    /// Stages that take them out on the server, before a stage that computes could copy them.
    pub(super) fn stages(&self) -> Vec<Document> {
        if self.is_empty() {
            return Vec::new();
        }
        let images = ["fullDocument", "fullDocumentBeforeChange"];
        let images: Document =
            images.iter().map(|image| ((*image).to_owned(), self.without(image))).collect();
        vec![doc! { "$unset": "updateDescription" }, doc! { "$set": images }]
    }

    /// An image without the hidden fields; what is no document stays as it is.
    fn without(&self, image: &str) -> Bson {
        let image = format!("${image}");
        let shown =
            doc! { "$not": [{ "$regexMatch": { "input": "$$field.k", "regex": self.pattern() } }] };
        let fields = doc! { "$objectToArray": &image };
        let fields = doc! { "$filter": { "input": fields, "as": "field", "cond": shown } };
        let is_document = doc! { "$eq": [{ "$type": &image }, "object"] };
        doc! { "$cond": [is_document, { "$arrayToObject": fields }, &image] }.into()
    }

    /// Names with a dot in them count by what stands before it.
    fn pattern(&self) -> String {
        let names = self.names.iter().map(|name| format!("{}(\\.|\\z)", quoted(name)));
        let prefixes = self.prefixes.iter().map(|prefix| quoted(prefix));
        format!("^({})", names.chain(prefixes).collect::<Vec<_>>().join("|"))
    }
}

/// A text as a regular expression that matches it and nothing else.
fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len());
    for letter in text.chars() {
        if !letter.is_alphanumeric() && letter != '_' {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted
}

#[cfg(test)]
mod tests {
    use bson::rawdoc;

    use super::*;

    fn users() -> Secrets {
        Secrets::new(&["p.w+d", "pwd"], &["passwordReset"])
    }

    #[test]
    fn hides_what_is_in_or_under_a_secret() {
        let check =
            |path: &str, expected: bool| assert_eq!(users().hides(path), expected, "{path}");
        check("pwd", true);
        check("pwd.x", true);
        check("passwordResetToken", true);
        check("passwordReset.code", true);
        check("pwd2", false);
        check("x.pwd", false);
        assert!(!Secrets::default().hides("pwd") && Secrets::default().cut().is_none());
    }

    #[test]
    fn takes_them_out_of_documents_and_events() {
        let cut = users().cut().unwrap();
        let document = rawdoc! { "_id": 1, "pwd": "x", "pwd.x": 2, "passwordResetCode": 3, "x": { "pwd": 4, "passwordReset": 5 } };
        let shown = rawdoc! { "_id": 1, "x": { "pwd": 4, "passwordReset": 5 } };
        assert_eq!(cut.document(&document), Some(shown));
        let event = rawdoc! { "updateDescription": {
            "updatedFields": { "pwd": 1, "passwordReset.code": 2, "a": 3 },
            "removedFields": ["passwordResetAt", "b"],
        } };
        let shown = rawdoc! { "updateDescription": { "updatedFields": { "a": 3 }, "removedFields": ["b"] } };
        assert_eq!(cut.event(&event), Some(shown));
    }

    #[test]
    fn names_are_quoted_for_the_server() {
        assert_eq!(users().pattern(), r"^(p\.w\+d(\.|\z)|pwd(\.|\z)|passwordReset)");
        assert!(Secrets::default().stages().is_empty());
    }
}
