//! Calls of functions, and predicates over elements.

use super::{Found, Reader, Word};
use crate::{
    entity::expression::{
        error::ExpressionError,
        functions::{self, Function, Predicate},
    },
    suggest::hint,
};

impl Reader<'_> {
    /// A call, its name already read.
    pub(super) fn call(&mut self, name: &str, at: usize) -> Found {
        let Some(function) = functions::find(name) else {
            return self.unknown_function(name, at);
        };
        if function.predicate != Predicate::Never && self.state.in_predicate {
            return self.refuse(at, format!("`{name}` cannot stand inside another predicate"));
        }
        self.require("(")?;
        self.operator()?;
        let mut arguments = 0;
        let mut asked = false;
        while !self.takes(")") {
            if arguments > 0 {
                self.require(",")?;
            }
            if arguments == function.arguments.1 && function.predicate != Predicate::Never && !asked
            {
                self.predicate()?;
                asked = true;
                continue;
            }
            self.argument(function)?;
            arguments += 1;
        }
        self.check_count(function, arguments, asked, at)?;
        Ok(function.result)
    }

    fn argument(&mut self, function: Function) -> Result<(), ExpressionError> {
        let at = self.here();
        let kind = self.expression()?;
        self.expect(kind, function.argument, at, &format!("an argument of `{}`", function.name))
    }

    /// `{#.n > 1}`, `.active`, or an expression that holds `#`.
    fn predicate(&mut self) -> Result<(), ExpressionError> {
        let at = self.here();
        self.state.in_predicate = true;
        let before = self.state.elements;
        if self.takes(".") {
            let Word::Name(_) = self.advance().word else {
                return self.refuse(at, "the name of a field is missing");
            };
            self.state.uses.mentions += 1;
        } else if self.takes("{") {
            self.expression()?;
            self.require("}")?;
        } else {
            self.expression()?;
            if self.state.elements == before {
                return self.refuse(at, "a predicate names the element, as in `#.n > 1`");
            }
        }
        self.state.in_predicate = false;
        Ok(())
    }

    fn check_count(
        &self,
        function: Function,
        arguments: usize,
        asked: bool,
        at: usize,
    ) -> Result<(), ExpressionError> {
        let Function { name, arguments: (least, most), .. } = function;
        if !(least..=most).contains(&arguments) {
            let wanted =
                if least == most { format!("{least}") } else { format!("{least} to {most}") };
            return self
                .refuse(at, format!("`{name}` takes {wanted} argument(s), not {arguments}"));
        }
        if function.predicate == Predicate::Always && !asked {
            return self.refuse(
                at,
                format!("`{name}` needs a predicate, as in `{name}(data.items, #.n > 1)`"),
            );
        }
        Ok(())
    }

    fn unknown_function(&self, name: &str, at: usize) -> Found {
        let near = hint(name, functions::names());
        let known: Vec<&str> = functions::names().collect();
        self.refuse(
            at,
            format!(
                "`{name}` is not a function that may be called{near}; there are {}",
                known.join(", ")
            ),
        )
    }
}
