//! From a path to the elements it reaches in a document: MongoDB's implicit walk through arrays.

use bson::spec::ElementType;

use super::check::Checked;
use super::error::MatchError;
use super::path::{Component, Path};
use super::raw::{Body, Raw};

/// Where a path starts.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Root<'a> {
    /// A whole document, usually a change event.
    Document(Checked<'a>),
    /// An element of an array, matched as a document: an array's names are its positions.
    Body(Body<'a>),
    /// An element of an array, matched itself.
    Element(Raw<'a>),
}

/// What to do with an array at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Leaf {
    /// Its elements, one level, then itself.
    Traverse,
    /// Only itself.
    Whole,
}

/// Calls `test` with each element in order until one holds; whether any did. Nothing stands for a
/// field that is missing.
pub(crate) fn any_element<'a, F>(
    root: Root<'a>,
    path: &Path,
    leaf: Leaf,
    test: &mut F,
) -> Result<bool, MatchError>
where
    F: FnMut(Option<Raw<'a>>) -> Result<bool, MatchError>,
{
    let mut walk = Walk { leaf, test };
    match root {
        Root::Element(raw) => (walk.test)(Some(raw)),
        Root::Body(body) => walk.body(body, path.components()),
        Root::Document(document) => match path.under_full_document() {
            Some(rest) => walk.found(document.full_document(), rest),
            None => walk.body(document.body(), path.components()),
        },
    }
}

struct Walk<'t, F> {
    leaf: Leaf,
    test: &'t mut F,
}

impl<'a, F> Walk<'_, F>
where
    F: FnMut(Option<Raw<'a>>) -> Result<bool, MatchError>,
{
    fn body(&mut self, body: Body<'a>, path: &[Component]) -> Result<bool, MatchError> {
        match path.split_first() {
            Some((first, rest)) => self.found(body.find(first.name.as_bytes())?, rest),
            None => Ok(false),
        }
    }

    fn found(&mut self, raw: Option<Raw<'a>>, rest: &[Component]) -> Result<bool, MatchError> {
        match raw {
            Some(raw) if rest.is_empty() => self.end(raw),
            Some(Raw { kind: ElementType::EmbeddedDocument, bytes }) => {
                self.body(Body::new(bytes)?, rest)
            }
            Some(Raw { kind: ElementType::Array, bytes }) => self.array(Body::new(bytes)?, rest),
            _ => (self.test)(None),
        }
    }

    fn end(&mut self, raw: Raw<'a>) -> Result<bool, MatchError> {
        if raw.kind == ElementType::Array && self.leaf == Leaf::Traverse {
            for field in Body::new(raw.bytes)?.fields() {
                if (self.test)(Some(field?.raw))? {
                    return Ok(true);
                }
            }
        }
        (self.test)(Some(raw))
    }

    /// Only objects contribute, and elements addressed by their position; an empty array
    /// contributes nothing, not even a missing value. Positions are read off the elements' names,
    /// as the server reads them: some writers get the names wrong.
    fn array(&mut self, array: Body<'a>, path: &[Component]) -> Result<bool, MatchError> {
        let Some((first, rest)) = path.split_first() else { return Ok(false) };
        for field in array.fields() {
            let field = field?;
            let object = field.raw.kind == ElementType::EmbeddedDocument;
            if object && self.body(Body::new(field.raw.bytes)?, path)? {
                return Ok(true);
            }
            let addressed = first.numeric && field.name == first.name.as_bytes();
            if addressed && self.addressed(field.raw, rest)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// An element named by its position is not expanded any further when the path ends there.
    fn addressed(&mut self, raw: Raw<'a>, rest: &[Component]) -> Result<bool, MatchError> {
        match raw.kind {
            _ if rest.is_empty() => (self.test)(Some(raw)),
            ElementType::EmbeddedDocument => self.body(Body::new(raw.bytes)?, rest),
            ElementType::Array => self.array(Body::new(raw.bytes)?, rest),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Value;
    use super::*;
    use bson::{RawDocumentBuf, rawdoc};

    /// Elements are written as their class, or as the number they are.
    fn check(document: &RawDocumentBuf, path: &str, leaf: Leaf, expected: &[i64]) {
        let mut seen = Vec::new();
        let root = Root::Document(Checked::new(document).unwrap());
        let path = Path::parse(path).unwrap();
        any_element(root, &path, leaf, &mut |raw| {
            seen.push(match raw.map_or(Ok(Value::Missing), Raw::value)? {
                Value::Number(number) => number.truncated().unwrap(),
                other => -i64::from(other.class()),
            });
            Ok(false)
        })
        .unwrap();
        assert_eq!(seen, expected, "{document:?} {path}");
    }

    const MISSING: i64 = -1;
    const OBJECT: i64 = -5;
    const ARRAY: i64 = -6;

    #[test]
    fn walks_through_arrays_as_mongodb_does() {
        use Leaf::{Traverse, Whole};
        check(&rawdoc! {}, "a", Traverse, &[MISSING]);
        check(&rawdoc! { "a": 1 }, "a.b", Traverse, &[MISSING]);
        check(&rawdoc! { "a": [1, [2]] }, "a", Traverse, &[1, ARRAY, ARRAY]);
        check(&rawdoc! { "a": [1, [2]] }, "a", Whole, &[ARRAY]);
        check(&rawdoc! { "a": [] }, "a.b", Traverse, &[]);
        check(&rawdoc! { "a": [1, [{ "b": 2 }]] }, "a.b", Traverse, &[]);
        check(&rawdoc! { "a": [{ "b": 2 }, {}] }, "a.b", Traverse, &[2, MISSING]);
        check(&rawdoc! { "a": [[7, 8]] }, "a.0", Traverse, &[ARRAY]);
        check(&rawdoc! { "a": [[7, 8]] }, "a.0.1", Traverse, &[8]);
        check(&rawdoc! { "a": [[7, 8]] }, "a.00", Traverse, &[]);
        check(&rawdoc! { "a": [{ "0": 3 }] }, "a.0", Traverse, &[3, OBJECT]);
        check(&rawdoc! { "a": [5] }, "a.0.b", Traverse, &[]);
        check(&rawdoc! { "fullDocument": [{ "b": 1 }] }, "fullDocument.b", Traverse, &[1]);
        check(&rawdoc! { "fullDocument": [1] }, "fullDocument", Traverse, &[1, ARRAY]);
        check(&rawdoc! {}, "fullDocument.b", Traverse, &[MISSING]);
    }
}
