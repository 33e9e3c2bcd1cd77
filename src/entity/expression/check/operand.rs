//! Values, and what hangs on them: fields, indexes, a default.

use super::{Found, Kind, Reader, Word};
use crate::entity::expression::limits::MAX_INDEX_LEVELS;

impl Reader<'_> {
    /// A value and what hangs on it: fields, indexes, a default.
    pub(super) fn operand(&mut self) -> Found {
        let at = self.here();
        let mut kind = self.term()?;
        loop {
            if self.takes(".") || self.takes("?.") {
                let index =
                    self.tokens[self.next - 1].word == Word::Symbol("?.") && self.takes("[");
                kind = if index { self.index(kind, at)? } else { self.field(kind, at)? };
            } else if self.takes("[") {
                kind = self.index(kind, at)?;
            } else if self.takes("??") {
                return self.default(kind);
            } else {
                return Ok(kind);
            }
            self.operator()?;
        }
    }

    fn term(&mut self) -> Found {
        let token = self.advance();
        match token.word {
            Word::Number => Ok(Kind::Number),
            Word::Text(_) => Ok(Kind::Text),
            Word::Symbol("(") => {
                let kind = self.expression()?;
                self.require(")")?;
                Ok(kind)
            }
            Word::Symbol("[") => self.list(),
            Word::Symbol("{") => {
                self.refuse(token.at, "maps are not allowed; compare field by field")
            }
            Word::Name(name) if self.peek() == Word::Symbol("(") => self.call(name, token.at),
            Word::Name(name) => self.name(name, token.at),
            Word::Symbol(symbol) => {
                self.refuse(token.at, format!("a value is missing before `{symbol}`"))
            }
            Word::End => self.refuse(token.at, "it ends where a value is missing"),
        }
    }

    fn list(&mut self) -> Found {
        while !self.takes("]") {
            self.expression()?;
            if !self.takes(",") {
                self.require("]")?;
                break;
            }
        }
        Ok(Kind::List)
    }

    fn field(&mut self, of: Kind, at: usize) -> Found {
        let token = self.advance();
        let Word::Name(name) = token.word else {
            return self.refuse(
                token.at,
                "the name of a field is missing; write `[\"…\"]` for names with other letters",
            );
        };
        if self.peek() == Word::Symbol("(") {
            return self.refuse(token.at, format!("methods are not allowed; write `{name}(…)`"));
        }
        self.expect(of, Kind::Map, at, "what has fields")?;
        Ok(Kind::Any)
    }

    fn index(&mut self, of: Kind, at: usize) -> Found {
        self.state.index_levels += 1;
        if self.state.index_levels > MAX_INDEX_LEVELS {
            return self
                .refuse(self.here(), format!("indexes nest deeper than {MAX_INDEX_LEVELS}"));
        }
        let of = if of == Kind::List { Kind::Any } else { of };
        self.expect(of, Kind::Map, at, "what has an index")?;
        self.expression()?;
        if self.peek() == Word::Symbol(":") {
            return self.refuse(self.here(), "slices are not allowed; name one position");
        }
        self.require("]")?;
        self.state.index_levels -= 1;
        Ok(Kind::Any)
    }

    /// The grammar takes everything that follows `??` for the default, which surprises.
    fn default(&mut self, value: Kind) -> Found {
        self.operator()?;
        let kind = value.or(self.operand()?);
        match self.peek() {
            Word::Symbol(")" | "]" | "}" | "," | ":") | Word::End => Ok(kind),
            _ => self.refuse(
                self.here(),
                "put `(… ?? …)` in parentheses: it would take what follows for its default",
            ),
        }
    }
}
