//! Operators between values, with the precedence of the language.

use super::{Found, Kind, Reader, Word};
use crate::entity::expression::error::ExpressionError;

/// What an operator asks of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Logic,
    Equal,
    Order,
    In,
    Contains,
    Text,
    Matches,
    Add,
    Arithmetic,
}

/// An operator, and how tightly it binds.
#[derive(Clone, Copy, Debug)]
struct Operator<'a> {
    name: &'a str,
    rule: Rule,
    strength: u8,
}

const STRENGTH_OF_COMPARISONS: u8 = 3;

impl<'a> Operator<'a> {
    fn of(word: Word<'a>) -> Option<Self> {
        let (Word::Name(name) | Word::Symbol(name)) = word else { return None };
        let (rule, strength) = match name {
            "or" | "||" => (Rule::Logic, 1),
            "and" | "&&" => (Rule::Logic, 2),
            "==" | "!=" => (Rule::Equal, STRENGTH_OF_COMPARISONS),
            "<" | "<=" | ">" | ">=" => (Rule::Order, STRENGTH_OF_COMPARISONS),
            "in" | "not" => (Rule::In, STRENGTH_OF_COMPARISONS),
            "contains" => (Rule::Contains, STRENGTH_OF_COMPARISONS),
            "startsWith" | "endsWith" => (Rule::Text, STRENGTH_OF_COMPARISONS),
            "matches" => (Rule::Matches, STRENGTH_OF_COMPARISONS),
            "+" => (Rule::Add, 4),
            "-" => (Rule::Arithmetic, 4),
            "*" | "/" | "%" => (Rule::Arithmetic, 5),
            "**" | "^" => (Rule::Arithmetic, 6),
            _ => return None,
        };
        Some(Self { name, rule, strength })
    }
}

impl Reader<'_> {
    /// Operands and the operators between them that bind at least this tightly.
    pub(super) fn operation(&mut self, least: u8) -> Found {
        let negated = matches!(self.peek(), Word::Symbol("!") | Word::Name("not"));
        let mut left = self.signed()?;
        while let Some(operator) = Operator::of(self.peek()).filter(|op| op.strength >= least) {
            let at = self.here();
            if negated && operator.strength >= STRENGTH_OF_COMPARISONS {
                return self.refuse(at, "put what `not` negates in parentheses");
            }
            self.next += 1;
            if operator.name == "not" && !self.takes_name("in") {
                return self.refuse(at, "an operator is missing before `not`");
            }
            self.operator()?;
            if operator.rule == Rule::Matches {
                self.check_pattern()?;
            }
            let right = self.operation(operator.strength + 1)?;
            left = self.judge(operator, left, right, at)?;
        }
        Ok(left)
    }

    /// An operand behind `not` or a sign.
    fn signed(&mut self) -> Found {
        match self.peek() {
            Word::Symbol("!") | Word::Name("not") => {
                self.next += 1;
                self.operator()?;
                let at = self.here();
                let kind = self.operand()?;
                self.expect(kind, Kind::Bool, at, "what `not` negates")?;
                Ok(Kind::Bool)
            }
            Word::Symbol("-" | "+") => {
                self.next += 1;
                self.operator()?;
                let at = self.here();
                let kind = self.operand()?;
                self.expect(kind, Kind::Number, at, "what has a sign")?;
                Ok(Kind::Number)
            }
            _ => self.operand(),
        }
    }

    fn judge(&self, operator: Operator<'_>, left: Kind, right: Kind, at: usize) -> Found {
        let possible = match operator.rule {
            Rule::Logic => left.fits(Kind::Bool) && right.fits(Kind::Bool),
            Rule::Equal => left.can_equal(right),
            Rule::Order | Rule::Add => numbers(left, right) || texts(left, right),
            Rule::In => right.fits(Kind::List) || (right == Kind::Map && left.fits(Kind::Text)),
            Rule::Contains => {
                left.fits(Kind::List)
                    || (left.fits(Kind::Text) && right.fits(Kind::Text))
                    || (left == Kind::Map && right.fits(Kind::Text))
            }
            Rule::Text | Rule::Matches => texts(left, right),
            Rule::Arithmetic => numbers(left, right),
        };
        if !possible {
            let name = operator.name;
            let name = if name == "not" { "not in" } else { name };
            return self.refuse(at, format!("`{name}` cannot take {left} and {right}"));
        }
        Ok(match operator.rule {
            // Both are numbers or both are text, so one that is known tells the other.
            Rule::Add => {
                if left == Kind::Any {
                    right
                } else {
                    left
                }
            }
            Rule::Arithmetic => Kind::Number,
            _ => Kind::Bool,
        })
    }

    /// A pattern is compiled once, so it has to be written out; a bad one would fail on every
    /// event.
    fn check_pattern(&self) -> Result<(), ExpressionError> {
        let at = self.here();
        let Word::Text(pattern) = self.peek() else {
            return self.refuse(at, "the pattern of `matches` has to be written out as text");
        };
        match expr::eval(&format!("'' matches {pattern}"), &expr::Context::default()) {
            Ok(_) => Ok(()),
            Err(error) => {
                let text = error.to_string();
                let reason = text.lines().next_back().unwrap_or_default().trim();
                self.refuse(at, format!("the pattern cannot be used: {reason}"))
            }
        }
    }

    fn takes_name(&mut self, name: &str) -> bool {
        let taken = matches!(self.peek(), Word::Name(next) if next == name);
        self.next += usize::from(taken);
        taken
    }
}

fn numbers(left: Kind, right: Kind) -> bool {
    left.fits(Kind::Number) && right.fits(Kind::Number)
}

fn texts(left: Kind, right: Kind) -> bool {
    left.fits(Kind::Text) && right.fits(Kind::Text)
}
