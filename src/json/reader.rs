//! Lenient Extended JSON to BSON.
//!
//! Beyond strict JSON: single quotes, keys without quotes, a comma after the last member, the
//! shell's constructors and regular expressions, and both versions of the Extended JSON wrappers.

mod call;
mod convert;
mod date;
mod error;
mod limits;
mod number;
mod scan;
mod string;
mod wrapper;

use bson::{Bson, Document};

pub use error::{JsonReadError, Problem};
pub use limits::{DuplicateKeys, Limits};
use scan::{Scanner, is_word_start};

/// Reads one document, with nothing but white space after it.
///
/// Integers become int32 where they fit, else int64, else double; `1.0` and `1e3` are doubles.
/// `{"$regex": …}` stays the query operator that it is, unless [`Limits::legacy_regex`] says
/// otherwise.
///
/// # Errors
/// [`JsonReadError`] for text that is not in the grammar or beyond `limits`, for a key given
/// twice, for a wrapper such as `{"$oid": "zz"}` whose content does not fit its type, and for any
/// value that is not a document.
pub fn parse_document(text: &str, limits: Limits) -> Result<Document, JsonReadError> {
    match parse_value(text, limits)? {
        Bson::Document(document) => Ok(document),
        other => {
            let problem = Problem::expected("a document", format!("{:?}", other.element_type()));
            Err(JsonReadError::at(text, 0, problem))
        }
    }
}

/// Reads one value of any type; otherwise as [`parse_document`].
///
/// # Errors
/// As [`parse_document`].
pub fn parse_value(text: &str, limits: Limits) -> Result<Bson, JsonReadError> {
    if text.len() > limits.bytes {
        return Err(JsonReadError::at(text, 0, Problem::TooLong(limits.bytes)));
    }
    let mut parser = Parser { scan: Scanner::new(text), limits, levels: limits.levels(), nodes: 0 };
    let value = parser.value()?;
    parser.scan.end()?;
    Ok(value)
}

struct Parser<'a> {
    scan: Scanner<'a>,
    limits: Limits,
    /// How many more levels may be opened.
    levels: usize,
    /// How many values were begun.
    nodes: usize,
}

impl Parser<'_> {
    fn value(&mut self) -> Result<Bson, JsonReadError> {
        self.nodes += 1;
        if self.nodes > self.limits.nodes {
            return Err(self.scan.error(Problem::TooMany(self.limits.nodes)));
        }
        match self.scan.peek() {
            Some('{') => self.nested(Self::object),
            Some('[') => self.nested(Self::array),
            Some('"' | '\'') => self.scan.string().map(Bson::String),
            Some('-' | '0'..='9') => self.scan.number(),
            Some('/') => self.scan.regex(),
            Some(first) if is_word_start(first) => self.word(),
            _ => Err(self.scan.expected("a value")),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Bson, JsonReadError>,
    ) -> Result<Bson, JsonReadError> {
        let Some(levels) = self.levels.checked_sub(1) else {
            return Err(self.scan.error(Problem::TooDeep(self.limits.levels())));
        };
        self.levels = levels;
        let value = read(self)?;
        self.levels += 1;
        Ok(value)
    }

    fn object(&mut self) -> Result<Bson, JsonReadError> {
        let start = self.scan.offset();
        self.scan.expect('{', "`{`")?;
        let mut document = Document::new();
        while !self.scan.eat('}') {
            self.member(&mut document)?;
            self.scan.comma_before('}', "`,` or `}`")?;
        }
        wrapper::interpret(document, self.limits.legacy_regex)
            .map_err(|problem| self.scan.error_at(start, problem))
    }

    fn member(&mut self, document: &mut Document) -> Result<(), JsonReadError> {
        let start = self.scan.skip_space();
        let key = self.key()?;
        if key.contains('\0') {
            return Err(self.scan.error_at(start, Problem::Nul));
        }
        let is_duplicate = document.contains_key(&key);
        if is_duplicate && self.limits.duplicate_keys == DuplicateKeys::Refuse {
            return Err(self.scan.error_at(start, Problem::duplicate(&key)));
        }
        self.scan.expect(':', "`:`")?;
        let value = self.value()?;
        document.insert(key, value);
        Ok(())
    }

    fn key(&mut self) -> Result<String, JsonReadError> {
        match self.scan.peek() {
            Some('"' | '\'') => self.scan.string(),
            Some(first) if is_word_start(first) => Ok(self.scan.word().to_owned()),
            _ => Err(self.scan.expected("a key or `}`")),
        }
    }

    fn array(&mut self) -> Result<Bson, JsonReadError> {
        self.scan.expect('[', "`[`")?;
        self.list(']', "`,` or `]`").map(Bson::Array)
    }

    /// Values up to `close`, after what opened the list.
    fn list(&mut self, close: char, wanted: &'static str) -> Result<Vec<Bson>, JsonReadError> {
        let mut values = Vec::new();
        while !self.scan.eat(close) {
            values.push(self.value()?);
            self.scan.comma_before(close, wanted)?;
        }
        Ok(values)
    }

    /// A constant, or a constructor with or without `new`.
    fn word(&mut self) -> Result<Bson, JsonReadError> {
        let start = self.scan.offset();
        let word = match self.scan.word() {
            "new" => {
                self.scan.skip_space();
                self.scan.word()
            }
            word => match call::constant(word) {
                Some(constant) if self.scan.peek() != Some('(') => return Ok(constant),
                _ => word,
            },
        };
        let Some(call) = call::find(word) else {
            return Err(self.scan.error_at(start, Problem::unexpected("a value", word)));
        };
        self.nested(|parser| {
            parser.scan.expect('(', "`(`")?;
            let arguments = parser.list(')', "`,` or `)`")?;
            call.apply(&arguments).map_err(|problem| parser.scan.error_at(start, problem))
        })
    }
}
