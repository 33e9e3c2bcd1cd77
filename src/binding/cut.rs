//! A permission's `projectResponse`, applied to every place of an event where a field can appear.

use std::collections::BTreeMap;

use bson::{
    Bson, Document, RawArray, RawDocument, RawDocumentBuf,
    raw::{CStr, RawArrayBuf, RawBson, RawBsonRef},
};

/// Which fields of documents are shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Cut {
    mode: Mode,
    root: Node,
    /// Fields at the root whose names begin like this are left out as well.
    prefixes: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Only the named fields.
    Include,
    /// All but the named fields.
    Exclude,
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Node {
    /// The path ends here.
    named: bool,
    inner: BTreeMap<String, Node>,
}

/// What becomes of a field.
enum Fate<'a> {
    Keep,
    Drop,
    /// It depends on what is inside.
    Inside(&'a Node),
}

/// A projection that does not say one thing. Whoever wrote the permission has to mend it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("projectResponse must either include fields (all 1) or exclude them (all 0)")]
pub struct CutError;

/// More components than MongoDB lets a path have.
const MAX_DEPTH: usize = 200;

impl Cut {
    /// Reads a projection: all `1` to include, all `0` to exclude.
    ///
    /// # Errors
    /// It mixes both, or is empty.
    pub fn parse(projection: &Document) -> Result<Self, CutError> {
        let mut flags = projection.values().map(is_set);
        let first = flags.next().flatten().ok_or(CutError)?;
        if flags.any(|flag| flag != Some(first)) {
            return Err(CutError);
        }
        let mode = if first { Mode::Include } else { Mode::Exclude };
        Ok(Self::of(mode, projection.keys().map(String::as_str)))
    }

    /// Leaves fields out.
    pub fn excluding<'a>(paths: impl IntoIterator<Item = &'a str>) -> Self {
        Self::of(Mode::Exclude, paths)
    }

    /// Leaves out as well what lies at the root of documents under a name that begins like one of these.
    #[must_use]
    pub(super) fn and_prefixes(mut self, prefixes: &[String]) -> Self {
        self.prefixes = prefixes.to_vec();
        self
    }

    fn of<'a>(mode: Mode, paths: impl IntoIterator<Item = &'a str>) -> Self {
        let mut root = Node::default();
        for path in paths {
            let node = path
                .split('.')
                .take(MAX_DEPTH)
                .fold(&mut root, |node, name| node.inner.entry(name.to_owned()).or_default());
            node.named = true;
        }
        Self { mode, root, prefixes: Vec::new() }
    }

    /// Whether only named fields are shown.
    pub fn is_inclusive(&self) -> bool {
        self.mode == Mode::Include
    }

    /// Whether a condition on a path of the document would tell of a hidden field.
    pub fn hides(&self, path: &str) -> bool {
        match self.fate(&self.root, path) {
            Fate::Keep => false,
            Fate::Drop | Fate::Inside(_) => true,
        }
    }

    /// A document as shown. `None`: it cannot be read.
    pub fn document(&self, document: &RawDocument) -> Option<RawDocumentBuf> {
        self.inside(document, &self.root, MAX_DEPTH)
    }

    /// A change event as shown: both images and the description of the update are cut, the event's own
    /// fields stay.
    pub fn event(&self, event: &RawDocument) -> Option<RawDocumentBuf> {
        let mut shown = RawDocumentBuf::new();
        for field in event {
            let (name, value) = field.ok()?;
            match (name.as_str(), value) {
                ("fullDocument" | "fullDocumentBeforeChange", RawBsonRef::Document(image)) => {
                    shown.append(name, self.document(image)?);
                }
                ("documentKey", RawBsonRef::Document(key)) if self.mode == Mode::Exclude => {
                    shown.append(name, self.key(key)?);
                }
                ("updateDescription", RawBsonRef::Document(update)) => {
                    shown.append(name, self.update(update)?);
                }
                _ => shown.append(name, value),
            }
        }
        Some(shown)
    }

    /// The key says which document it is; of a sharded collection it holds other fields too.
    fn key(&self, key: &RawDocument) -> Option<RawDocumentBuf> {
        let mut shown = RawDocumentBuf::new();
        for field in key {
            let (name, value) = field.ok()?;
            if name.as_str() == "_id" || matches!(self.fate(&self.root, name.as_str()), Fate::Keep)
            {
                shown.append(name, value);
            }
        }
        Some(shown)
    }

    fn update(&self, update: &RawDocument) -> Option<RawDocumentBuf> {
        let mut shown = RawDocumentBuf::new();
        for field in update {
            let (name, value) = field.ok()?;
            match (name.as_str(), value) {
                // Keys are dotted paths here, which are looked up as such.
                ("updatedFields", RawBsonRef::Document(fields)) => {
                    shown.append(name, self.document(fields)?);
                }
                ("removedFields", RawBsonRef::Array(names)) => {
                    shown.append(name, self.list(names, RawBsonRef::as_str)?);
                }
                ("truncatedArrays", RawBsonRef::Array(arrays)) => {
                    shown.append(name, self.list(arrays, truncated_field)?);
                }
                ("disambiguatedPaths", RawBsonRef::Document(paths)) => {
                    shown.append(name, self.names(paths)?);
                }
                // What a later server adds may name anything.
                _ => {}
            }
        }
        Some(shown)
    }

    /// Elements whose path is shown.
    fn list<'a>(
        &self,
        elements: &'a RawArray,
        path: impl Fn(RawBsonRef<'a>) -> Option<&'a str>,
    ) -> Option<RawArrayBuf> {
        let mut shown = RawArrayBuf::new();
        for element in elements {
            let element = element.ok()?;
            if !matches!(self.fate(&self.root, path(element)?), Fate::Drop) {
                shown.push(RawBson::from(element));
            }
        }
        Some(shown)
    }

    /// Fields whose name is a shown path; their values are kept.
    fn names(&self, paths: &RawDocument) -> Option<RawDocumentBuf> {
        let mut shown = RawDocumentBuf::new();
        for field in paths {
            let (name, value) = field.ok()?;
            if !matches!(self.fate(&self.root, name.as_str()), Fate::Drop) {
                shown.append(name, value);
            }
        }
        Some(shown)
    }

    fn inside(&self, document: &RawDocument, node: &Node, levels: usize) -> Option<RawDocumentBuf> {
        let levels = levels.checked_sub(1)?;
        let mut shown = RawDocumentBuf::new();
        for field in document {
            let (name, value) = field.ok()?;
            match self.fate(node, name.as_str()) {
                Fate::Keep => shown.append(name, value),
                Fate::Drop => {}
                Fate::Inside(node) => self.append_inside(&mut shown, name, value, node, levels)?,
            }
        }
        Some(shown)
    }

    fn append_inside(
        &self,
        shown: &mut RawDocumentBuf,
        name: &CStr,
        value: RawBsonRef<'_>,
        node: &Node,
        levels: usize,
    ) -> Option<()> {
        match value {
            RawBsonRef::Document(inner) => shown.append(name, self.inside(inner, node, levels)?),
            RawBsonRef::Array(inner) => shown.append(name, self.array(inner, node, levels)?),
            // A scalar has nothing inside that could be hidden or asked for.
            scalar if self.mode == Mode::Exclude => shown.append(name, scalar),
            _ => {}
        }
        Some(())
    }

    fn array(&self, array: &RawArray, node: &Node, levels: usize) -> Option<RawArrayBuf> {
        let levels = levels.checked_sub(1)?;
        let mut shown = RawArrayBuf::new();
        for element in array {
            match element.ok()? {
                RawBsonRef::Document(inner) => shown.push(self.inside(inner, node, levels)?),
                RawBsonRef::Array(inner) => shown.push(self.array(inner, node, levels)?),
                scalar if self.mode == Mode::Exclude => shown.push(RawBson::from(scalar)),
                _ => {}
            }
        }
        Some(shown)
    }

    /// Follows a name, which may itself be a dotted path or look like one.
    fn fate<'a>(&self, mut node: &'a Node, path: &str) -> Fate<'a> {
        let (met, missed) = match self.mode {
            Mode::Include => (Fate::Keep, Fate::Drop),
            Mode::Exclude => (Fate::Drop, Fate::Keep),
        };
        if std::ptr::eq(node, &raw const self.root)
            && self.prefixes.iter().any(|it| path.starts_with(it))
        {
            return Fate::Drop;
        }
        for (place, name) in path.split('.').enumerate() {
            match node.inner.get(name) {
                Some(inner) if inner.named => return met,
                Some(inner) => node = inner,
                // A position in an array: the path goes on inside every element. First it is a field's own
                // name, which nobody asked for; what is to be hidden is hidden there too.
                None if is_position(name) && (place > 0 || self.mode == Mode::Exclude) => {}
                None => return missed,
            }
        }
        Fate::Inside(node)
    }
}

fn truncated_field(array: RawBsonRef<'_>) -> Option<&str> {
    array.as_document()?.get_str("field").ok()
}

fn is_position(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_set(value: &Bson) -> Option<bool> {
    match value {
        Bson::Int32(flag) => Some(*flag != 0),
        Bson::Int64(flag) => Some(*flag != 0),
        Bson::Double(flag) => Some(*flag != 0.0),
        Bson::Boolean(flag) => Some(*flag),
        _ => None,
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests {
    use bson::{doc, rawdoc};

    use super::*;

    #[track_caller]
    fn check(projection: &Document, document: RawDocumentBuf, expected: RawDocumentBuf) {
        let cut = Cut::parse(projection).unwrap();
        assert_eq!(cut.document(&document), Some(expected), "{projection} {document:?}");
    }

    #[test]
    fn exclusion_hides_paths_and_literal_names_alike() {
        let hide = doc! { "ssn": 0, "p.secret": 0, "items.price": 0 };
        check(&hide, rawdoc! { "_id": 1, "ssn": 2, "a": 3 }, rawdoc! { "_id": 1, "a": 3 });
        check(&hide, rawdoc! { "p": { "secret": 1, "b": 2 } }, rawdoc! { "p": { "b": 2 } });
        check(&hide, rawdoc! { "p.secret": 1, "p": 7 }, rawdoc! { "p": 7 });
        check(
            &hide,
            rawdoc! { "items": [{ "price": 1, "n": 2 }, [{ "price": 3 }], 4] },
            rawdoc! { "items": [{ "n": 2 }, [{}], 4] },
        );
    }

    #[test]
    fn inclusion_shows_only_what_is_listed_and_no_key_unasked() {
        let show = doc! { "a": 1, "p.b": 1 };
        let document = rawdoc! { "_id": 1, "a": { "x": 1 }, "p": { "b": 2, "c": 3 }, "z": 4 };
        check(&show, document, rawdoc! { "a": { "x": 1 }, "p": { "b": 2 } });
        check(&show, rawdoc! { "p": 5 }, rawdoc! {});
        check(&show, rawdoc! { "5": { "a": 1 }, "p": { "5": { "b": 1 } } }, rawdoc! { "p": {} });
        check(&show, rawdoc! { "p": [{ "b": 1, "c": 2 }, 3] }, rawdoc! { "p": [{ "b": 1 }] });
    }

    #[test]
    fn an_update_is_cut_with_its_names() {
        let event = rawdoc! {
            "operationType": "update",
            "documentKey": { "_id": 1, "ssn": 1, "p.secret": 2, "a": 2 },
            "fullDocument": { "_id": 1, "ssn": 1, "a": 2 },
            "updateDescription": {
                "updatedFields": { "ssn": 1, "a": 2, "p": { "secret": 1, "b": 2 }, "p.secret": 1, "items.0.price": 3, "items.0.n": 4 },
                "removedFields": ["ssn", "b", "p.secret.deep", "items.3.price"],
                "truncatedArrays": [{ "field": "ssn", "newSize": 1 }, { "field": "l", "newSize": 2 }],
                "disambiguatedPaths": { "ssn.0": ["ssn", "0"], "l.0": ["l", 0] },
            },
        };
        let cut = Cut::parse(&doc! { "ssn": 0, "p.secret": 0, "items.price": 0 }).unwrap();
        let expected = rawdoc! {
            "operationType": "update",
            "documentKey": { "_id": 1, "a": 2 },
            "fullDocument": { "_id": 1, "a": 2 },
            "updateDescription": {
                "updatedFields": { "a": 2, "p": { "b": 2 }, "items.0.n": 4 },
                "removedFields": ["b"],
                "truncatedArrays": [{ "field": "l", "newSize": 2 }],
                "disambiguatedPaths": { "l.0": ["l", 0] },
            },
        };
        assert_eq!(cut.event(&event), Some(expected));
    }

    #[test]
    fn a_projection_says_one_thing() {
        for projection in [doc! {}, doc! { "a": 1, "b": 0 }, doc! { "a": "x" }] {
            assert_eq!(Cut::parse(&projection), Err(CutError), "{projection}");
        }
    }

    #[test]
    fn conditions_on_hidden_fields_are_known() {
        let hide = Cut::parse(&doc! { "ssn": 0, "p.secret": 0 }).unwrap();
        let show = Cut::parse(&doc! { "a": 1 }).unwrap();
        for (path, hidden, unlisted) in
            [("ssn", true, true), ("p", true, true), ("p.b", false, true), ("a.x", false, false)]
        {
            assert_eq!(hide.hides(path), hidden, "{path}");
            assert_eq!(show.hides(path), unlisted, "{path}");
        }
    }
}
