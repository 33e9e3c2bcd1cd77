//! A file on its way in: what is wrong is noted and reading goes on, so that everything is told at
//! once.

use std::path::Path;

use serde_json::Value;

use crate::{
    suggest::hint,
    yaml::{Kind, Mark, Node, Note, Origin},
};

/// Notes of one file.
#[derive(Debug)]
pub(super) struct Reading<'a> {
    file: &'a Path,
    pub(super) errors: Vec<Note>,
    pub(super) warnings: Vec<Note>,
}

/// A key of another dialect, and what to write instead.
pub(super) type Foreign = (&'static str, &'static str);

impl<'a> Reading<'a> {
    pub(super) fn new(file: &'a Path) -> Self {
        Self { file, errors: Vec::new(), warnings: Vec::new() }
    }

    pub(super) fn origin(&self, (line, column): Mark) -> Origin {
        Origin { file: self.file.to_owned(), line, column }
    }

    pub(super) fn refuse(&mut self, mark: Mark, reason: impl Into<String>) {
        let origin = self.origin(mark);
        self.errors.push(Note { origin, reason: reason.into() });
    }

    pub(super) fn warn(&mut self, mark: Mark, reason: impl Into<String>) {
        let origin = self.origin(mark);
        self.warnings.push(Note { origin, reason: reason.into() });
    }

    /// Notes a result that is an error.
    pub(super) fn taken<T, E: ToString>(&mut self, mark: Mark, result: Result<T, E>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(error) => {
                self.refuse(mark, error.to_string());
                None
            }
        }
    }

    /// Whether a node is a mapping; its keys are checked.
    pub(super) fn is_map(
        &mut self,
        node: &Node,
        otherwise: &str,
        known: &[&str],
        foreign: &[Foreign],
    ) -> bool {
        let Some(entries) = node.entries() else {
            self.refuse(node.mark, otherwise);
            return false;
        };
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            let instead = foreign.iter().find(|(theirs, _)| *theirs == entry.key);
            let key = entry.key.escape_debug();
            let reason = match instead {
                Some((_, instead)) => format!("`{key}` belongs to an older dialect; {instead}"),
                None => format!(
                    "unknown key `{key}`{}; known are {}",
                    hint(&entry.key, known.iter().copied()),
                    known.join(", ")
                ),
            };
            self.refuse(entry.mark, reason);
        }
        true
    }

    /// The text under a key. Absent is fine.
    pub(super) fn text<'n>(&mut self, node: &'n Node, key: &str) -> Option<(&'n str, Mark)> {
        let value = &node.entry(key)?.value;
        let text = value.text();
        if text.is_none() {
            self.refuse(value.mark, format!("`{key}` must be a string; quote it"));
        }
        Some((text?, value.mark))
    }

    /// The text under a key that has to be there.
    pub(super) fn required<'n>(&mut self, node: &'n Node, key: &str) -> Option<(&'n str, Mark)> {
        if node.entry(key).is_none() {
            self.refuse(node.mark, format!("`{key}` is missing"));
        }
        self.text(node, key)
    }

    pub(super) fn flag(&mut self, node: &Node, key: &str) -> bool {
        match node.entry(key).map(|entry| (&entry.value.kind, entry.value.mark)) {
            None => false,
            Some((Kind::Scalar(Value::Bool(flag)), _)) => *flag,
            Some((_, mark)) => {
                self.refuse(mark, format!("`{key}` must be true or false"));
                false
            }
        }
    }

    pub(super) fn list<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n [Node]> {
        let value = &node.entry(key)?.value;
        let items = value.items();
        if items.is_none() {
            self.refuse(value.mark, format!("`{key}` must be a list"));
        }
        items
    }

    /// A list of strings, of which there has to be one.
    pub(super) fn texts<'n>(&mut self, node: &'n Node, key: &str) -> Option<(Vec<&'n str>, Mark)> {
        let mark = node.entry(key)?.value.mark;
        let items = self.list(node, key)?;
        if items.is_empty() {
            self.refuse(mark, format!("`{key}` is empty; leave it out, or name something"));
        }
        let mut texts = Vec::new();
        for item in items {
            match item.text() {
                Some(text) => texts.push(text),
                None => self.refuse(item.mark, format!("`{key}` is a list of strings; quote this")),
            }
        }
        (texts.len() == items.len() && !texts.is_empty()).then_some((texts, mark))
    }

    /// One of a few words.
    pub(super) fn one_of<T: Copy>(
        &mut self,
        node: &Node,
        key: &str,
        names: &[(&str, T)],
    ) -> Option<T> {
        let (text, mark) = self.text(node, key)?;
        self.word(text, mark, names)
    }

    pub(super) fn word<T: Copy>(
        &mut self,
        text: &str,
        mark: Mark,
        names: &[(&str, T)],
    ) -> Option<T> {
        let found = names.iter().find(|(name, _)| *name == text);
        if found.is_none() {
            let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
            let near = hint(text, known.iter().copied());
            let text = text.escape_debug();
            self.refuse(mark, format!("`{text}` is not one of {}{near}", known.join(", ")));
        }
        found.map(|(_, value)| *value)
    }

    /// A name that is a segment of a route.
    pub(super) fn name(&mut self, node: &Node, key: &str) -> Option<String> {
        let (name, mark) = self.required(node, key)?;
        let follows = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let starts = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
        if starts && name.len() <= 128 && name.chars().all(follows) {
            return Some(name.to_owned());
        }
        let shown: String = name.chars().take(64).flat_map(char::escape_debug).collect();
        let reason = format!(
            "`{shown}` cannot be a name; write a letter, then letters, digits and `_ - .`, at most 128"
        );
        self.refuse(mark, reason);
        None
    }
}
