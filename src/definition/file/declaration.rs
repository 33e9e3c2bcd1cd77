//! One declaration in a file: a collection and its streams, read strictly.

use std::path::Path;

use bson::{Bson, Document};

use super::super::error::DefinitionError;
use super::super::escape::{escape_stages, unescape};
use super::super::fields::FIELDS;
use super::super::names::{NameError, check_coll, check_db};
use super::super::stream::StreamDef;
use super::locate::locate;
use crate::suggest::hint;
use crate::yaml::{self, Mark, Node, Note, Origin};

/// A collection's streams as one file declares them.
#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) db: String,
    pub(super) coll: String,
    pub(super) streams: Vec<Declared>,
}

/// A stream in the form that is stored.
#[derive(Debug)]
pub(super) struct Declared {
    pub(super) uri: String,
    pub(super) stored: Bson,
    pub(super) origin: Origin,
    pub(super) warnings: Vec<Note>,
}

const KEYS: &[&str] = &["db", "coll", "streams"];

/// Reads every declaration of a file, or everything that is wrong in it.
pub(super) fn parse(file: &Path, text: &str) -> Result<Vec<Declaration>, Vec<Note>> {
    let root =
        yaml::parse(text).map_err(|(mark, reason)| vec![Origin::new(file, mark).note(reason)])?;
    let mut reading = Reading { file, errors: Vec::new() };
    let nodes = root.items().unwrap_or(std::slice::from_ref(&root));
    let declarations = nodes.iter().filter_map(|node| reading.declaration(node)).collect();
    if reading.errors.is_empty() { Ok(declarations) } else { Err(reading.errors) }
}

/// A file on its way in; what is wrong is noted and reading goes on.
struct Reading<'a> {
    file: &'a Path,
    errors: Vec<Note>,
}

impl Reading<'_> {
    fn declaration(&mut self, node: &Node) -> Option<Declaration> {
        if node.entries().is_none() {
            return self.refuse(node.mark, "a declaration has the keys db, coll and streams");
        }
        self.check_keys(node, KEYS);
        let db = self.name(node, "db", check_db);
        let coll =
            self.name(node, "coll", |coll| check_coll(db.as_deref().unwrap_or_default(), coll));
        let streams = self.streams(node);
        Some(Declaration { db: db?, coll: coll?, streams: streams? })
    }

    fn name(
        &mut self,
        node: &Node,
        key: &str,
        check: impl Fn(&str) -> Result<(), NameError>,
    ) -> Option<String> {
        let Some(entry) = node.entry(key) else {
            return self.refuse(node.mark, format!("`{key}` is missing"));
        };
        let Some(name) = entry.value.text() else {
            return self.refuse(entry.value.mark, format!("`{key}` must be a string; quote it"));
        };
        match check(name) {
            Ok(()) => Some(name.to_owned()),
            Err(error) => {
                self.refuse(entry.value.mark, format!("`{}`: {error}", name.escape_debug()))
            }
        }
    }

    fn streams(&mut self, node: &Node) -> Option<Vec<Declared>> {
        let Some(entry) = node.entry("streams") else {
            return self.refuse(node.mark, "`streams` is missing");
        };
        let Some(items) = entry.value.items() else {
            return self.refuse(entry.value.mark, "`streams` must be a list");
        };
        Some(items.iter().filter_map(|item| self.stream(item)).collect())
    }

    fn stream(&mut self, node: &Node) -> Option<Declared> {
        self.check_keys(node, FIELDS);
        let element = match node.to_bson() {
            Ok(element) => element,
            Err((mark, reason)) => return self.refuse(mark, reason),
        };
        match StreamDef::parse(&element).and_then(|def| Ok((stored(&element)?, def))) {
            Ok((stored, def)) => Some(self.declared(node, stored, def)),
            Err(error) => self.refuse(locate(node, error.path.segments()), described(&error)),
        }
    }

    fn declared(&self, node: &Node, stored: Bson, def: StreamDef) -> Declared {
        let origin = Origin::new(self.file, node.mark);
        let about = format!("stream `{}`: ", def.uri);
        let warnings = def.warnings.into_iter();
        let warnings = warnings.map(|text| origin.clone().note(about.clone() + &text)).collect();
        Declared { uri: def.uri, stored, origin, warnings }
    }

    fn check_keys(&mut self, node: &Node, known: &[&str]) {
        for entry in node.entries().into_iter().flatten() {
            if !known.contains(&entry.key.as_str()) {
                let near = hint(&entry.key, known.iter().copied());
                let reason =
                    format!("unknown key `{}`{near}; known are {}", entry.key, known.join(", "));
                self.errors.push(Origin::new(self.file, entry.mark).note(reason));
            }
        }
    }

    fn refuse<T>(&mut self, mark: Mark, reason: impl Into<String>) -> Option<T> {
        self.errors.push(Origin::new(self.file, mark).note(reason));
        None
    }
}

/// The element with its stages escaped; `notify_when` is stored as it is written.
fn stored(element: &Bson) -> Result<Bson, DefinitionError> {
    let escape = |(field, value): (&String, &Bson)| match value {
        Bson::Array(stages) if field == "stages" => {
            let plain: Vec<Bson> = stages.iter().map(unescape).collect();
            Ok((field.clone(), Bson::Array(escape_stages(&plain)?)))
        }
        other => Ok((field.clone(), other.clone())),
    };
    let document = element.as_document().cloned().unwrap_or_default();
    document.iter().map(escape).collect::<Result<Document, _>>().map(Bson::Document)
}

fn described(error: &DefinitionError) -> String {
    if error.path.segments().is_empty() { error.reason.clone() } else { error.to_string() }
}
