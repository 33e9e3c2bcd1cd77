//! The stages that reshape a document in process: `$project` that only includes or only excludes,
//! `$unset`, and `$addFields` or `$set` with constants.

mod constant;
mod paths;
mod reshape;
mod tree;
mod writer;

use bson::{RawDocument, RawDocumentBuf};

use super::error::MatchError;
use super::parse::elements;
use super::raw::{Body, Field};
use super::refusal::Refusal;
use reshape::Reshape;
use tree::Tree;

/// A stage, parsed. Applying it gives what the server's stage gives, byte for byte, except on
/// documents that repeat a name: of an included or set field only the first is kept, which is the
/// one that filters look at.
#[derive(Debug, Clone)]
pub struct Projection(Shape);

#[derive(Debug, Clone)]
enum Shape {
    Include(Tree),
    Exclude(Tree),
    Set(Tree),
}

impl Projection {
    /// Reads one stage, such as `{$project: {…}}`.
    ///
    /// # Errors
    /// Any other stage, and whatever computes a value or is an error to the server.
    pub fn parse(stage: &RawDocument) -> Result<Self, Refusal> {
        let body = Body::new(stage.as_bytes()).map_err(|_| Refusal::Malformed)?;
        let fields = super::parse::fields(body, super::options::Duplicates::Refuse)?;
        let [Field { name, raw }] = fields.as_slice() else {
            return Err(Refusal::Stage { stage: names(&fields) });
        };
        match *name {
            b"$project" => paths::project(*raw).map(|(tree, includes)| {
                Self(if includes { Shape::Include(tree) } else { Shape::Exclude(tree) })
            }),
            b"$unset" => paths::unset(*raw).map(|tree| Self(Shape::Exclude(tree))),
            b"$addFields" => constant::set("$addFields", *raw).map(|tree| Self(Shape::Set(tree))),
            b"$set" => constant::set("$set", *raw).map(|tree| Self(Shape::Set(tree))),
            _ => Err(Refusal::Stage { stage: names(&fields) }),
        }
    }

    /// The reshaped document.
    ///
    /// # Errors
    /// The document is malformed where the stage looks, or the result would be too large.
    pub fn apply(&self, document: &RawDocument) -> Result<RawDocumentBuf, MatchError> {
        let body = Body::new(document.as_bytes())?;
        let bytes = match &self.0 {
            Shape::Include(tree) => Reshape::Include.document(body, tree)?,
            Shape::Exclude(tree) => Reshape::Exclude.document(body, tree)?,
            Shape::Set(tree) => Reshape::Set.document(body, tree)?,
        };
        let malformed = |_| MatchError::Malformed("a reshaped document is not bson");
        RawDocumentBuf::from_bytes(bytes).map_err(malformed)
    }

    /// Whether the stage leaves the top-level field `name` exactly as it is.
    #[must_use]
    pub fn keeps(&self, name: &str) -> bool {
        match &self.0 {
            Shape::Include(tree) => tree.has_leaf(name),
            Shape::Exclude(tree) | Shape::Set(tree) => !tree.mentions(name),
        }
    }
}

fn names(fields: &[Field<'_>]) -> String {
    let names: Vec<_> = fields.iter().map(|field| String::from_utf8_lossy(field.name)).collect();
    names.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use bson::rawdoc;

    fn check(stage: &RawDocumentBuf, document: &RawDocumentBuf, expected: &RawDocumentBuf) {
        let reshaped = Projection::parse(stage).unwrap().apply(document).unwrap();
        assert_eq!(reshaped, *expected, "{stage:?} {document:?}");
    }

    #[test]
    fn includes() {
        let stage = rawdoc! { "$project": { "a.b": 1 } };
        check(
            &stage,
            &rawdoc! { "_id": 1, "a": { "b": 1, "c": 2 } },
            &rawdoc! { "_id": 1, "a": { "b": 1 } },
        );
        check(
            &stage,
            &rawdoc! { "a": [1, { "b": 1 }, [{}]] },
            &rawdoc! { "a": [{ "b": 1 }, [{}]] },
        );
        check(&stage, &rawdoc! { "a": 1 }, &rawdoc! {});
        let stage = rawdoc! { "$project": { "_id": 0, "b": true, "a": 1 } };
        check(&stage, &rawdoc! { "_id": 1, "a": 1, "b": 2 }, &rawdoc! { "a": 1, "b": 2 });
    }

    #[test]
    fn excludes() {
        let stage = rawdoc! { "$unset": ["a.b", "c"] };
        check(
            &stage,
            &rawdoc! { "a": [1, { "b": 1, "d": 2 }], "c": 1 },
            &rawdoc! { "a": [1, { "d": 2 }] },
        );
        check(&stage, &rawdoc! { "_id": 1, "a": 1 }, &rawdoc! { "_id": 1, "a": 1 });
        check(
            &rawdoc! { "$project": { "_id": 1, "a": 0 } },
            &rawdoc! { "_id": 1, "a": 1 },
            &rawdoc! { "_id": 1 },
        );
    }

    #[test]
    fn sets_constants() {
        let stage = rawdoc! { "$set": { "a.b": 7, "z": { "$literal": "$x" } } };
        check(&stage, &rawdoc! {}, &rawdoc! { "a": { "b": 7 }, "z": "$x" });
        check(
            &stage,
            &rawdoc! { "z": 1, "a": { "c": 1 } },
            &rawdoc! { "z": "$x", "a": { "c": 1, "b": 7 } },
        );
        check(
            &stage,
            &rawdoc! { "a": [1, [2], { "b": 0 }] },
            &rawdoc! { "a": [{ "b": 7 }, [{ "b": 7 }], { "b": 7 }], "z": "$x" },
        );
    }

    #[test]
    fn refuses_by_name() {
        let refused = [
            rawdoc! {},
            rawdoc! { "$match": {} },
            rawdoc! { "$unset": "a", "$set": { "a": 1 } },
            rawdoc! { "$project": {} },
            rawdoc! { "$project": { "a": 1, "b": 0 } },
            rawdoc! { "$project": { "a": 1, "a.b": 1 } },
            rawdoc! { "$project": { "a": "$b" } },
            rawdoc! { "$project": { "a": { "$add": [1, 2] } } },
            rawdoc! { "$project": { "a": {} } },
            rawdoc! { "$project": { "_id": 0, "_id.x": 1 } },
            rawdoc! { "$unset": ["a", "a.b"] },
            rawdoc! { "$unset": [] },
            rawdoc! { "$unset": "$a" },
            rawdoc! { "$set": {} },
            rawdoc! { "$set": { "a": "$b" } },
            rawdoc! { "$set": { "a": {} } },
            rawdoc! { "$set": { "a": { "b.c": 1 } } },
            rawdoc! { "$set": { "a": [{ "$add": [1] }] } },
            rawdoc! { "$set": { "a": { "$add": [1] } } },
            rawdoc! { "$set": { "a": 1, "a.b": 1 } },
        ];
        for stage in refused {
            assert!(Projection::parse(&stage).is_err(), "{stage:?}");
        }
    }

    #[test]
    fn knows_what_it_keeps() {
        let keeps = |stage: RawDocumentBuf, name| Projection::parse(&stage).unwrap().keeps(name);
        assert!(keeps(rawdoc! { "$project": { "a": 1 } }, "_id"));
        assert!(!keeps(rawdoc! { "$project": { "a": 1, "_id": 0 } }, "_id"));
        assert!(!keeps(rawdoc! { "$project": { "a.b": 1 } }, "a"));
        assert!(!keeps(rawdoc! { "$unset": "a.b" }, "a"));
        assert!(keeps(rawdoc! { "$set": { "a": 1 } }, "_id"));
    }

    #[test]
    fn bounds_what_it_writes() {
        let stage = rawdoc! { "$set": { "a.b": "x".repeat(100_000) } };
        let document = rawdoc! { "a": bson::RawArrayBuf::from_iter(vec![1; 1000]) };
        let applied = Projection::parse(&stage).unwrap().apply(&document);
        assert!(matches!(applied, Err(MatchError::TooLarge { .. })));
    }
}
