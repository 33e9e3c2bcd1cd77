//! What a bare name may be: a constant, the element of a predicate, a variable.

use super::{Found, Kind, Reader, Word};
use crate::suggest::hint;

/// The variables, and the kind of each when it is not `nil`.
const VARIABLES: &[(&str, Kind)] = &[
    ("event", Kind::Text),
    ("entity", Kind::Text),
    ("operation", Kind::Text),
    ("data", Kind::Map),
    ("payload", Kind::Map),
    ("tenant", Kind::Text),
    ("user_id", Kind::Text),
];

/// What other languages call things.
const FOREIGN: &[(&str, &str)] = &[
    ("null", "nil"),
    ("None", "nil"),
    ("undefined", "nil"),
    ("user", "user_id"),
    ("userId", "user_id"),
    ("tenantId", "tenant"),
    ("op", "operation"),
    ("document", "data"),
    ("doc", "data"),
    ("fullDocument", "data"),
];

impl<'a> Reader<'a> {
    pub(super) fn name(&mut self, name: &'a str, at: usize) -> Found {
        match name {
            "true" | "false" => Ok(Kind::Bool),
            "nil" => Ok(Kind::Nil),
            "let" | "if" => self
                .refuse(at, format!("`{name}` is not allowed; write one expression, with `? :`")),
            "#" if self.state.in_predicate => {
                self.state.elements += 1;
                self.state.uses.mentions += 1;
                Ok(Kind::Any)
            }
            "#" => self
                .refuse(at, "`#` is an element: it stands in predicates, as in `any(x, #.n > 1)`"),
            _ => self.variable(name, at),
        }
    }

    fn variable(&mut self, name: &'a str, at: usize) -> Found {
        let Some((_, kind)) = VARIABLES.iter().find(|(known, _)| *known == name) else {
            return self.unknown_variable(name, at);
        };
        let field = self.field_ahead();
        match name {
            "data" => self.state.uses.data.add(field),
            "payload" => self.state.uses.payload.add(field),
            _ => return Ok(*kind),
        }
        let repeated = self.state.in_predicate;
        let uses = &mut self.state.uses;
        if repeated {
            uses.repeated += 1;
        } else {
            uses.mentions += 1;
        }
        Ok(*kind)
    }

    fn unknown_variable(&self, name: &str, at: usize) -> Found {
        let foreign = FOREIGN.iter().find(|(theirs, _)| *theirs == name);
        let known = VARIABLES.iter().map(|(name, _)| *name);
        let near = match foreign {
            Some((_, ours)) => format!("; did you mean `{ours}`"),
            None if self.state.in_predicate => {
                format!("; write `#.{name}` for a field of the element")
            }
            None => hint(name, known.clone()),
        };
        let known: Vec<&str> = known.collect();
        let reason = format!("unknown variable `{name}`{near}; known are {}", known.join(", "));
        self.refuse(at, reason)
    }

    /// The field that follows a variable, when it is spelled out.
    fn field_ahead(&self) -> Option<&'a str> {
        let word = |ahead: usize| self.tokens.get(self.next + ahead).map(|token| token.word);
        let dotted = matches!(word(0), Some(Word::Symbol("." | "?.")));
        match (dotted, word(1)?) {
            (true, Word::Name(name)) => Some(name),
            _ => None,
        }
    }
}
