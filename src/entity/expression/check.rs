//! Reads an expression for what it names and does, and judges it. What is not recognised is
//! refused.

mod call;
mod names;
mod operand;
mod operators;

use super::{
    error::ExpressionError,
    kind::Kind,
    lexer::{Token, Word, tokens},
    limits::{MAX_BYTES, MAX_LEVELS, MAX_OPERATORS},
    uses::Uses,
};

/// What is known of an expression that may be used.
#[derive(Debug)]
pub(super) struct Checked {
    pub(super) uses: Uses,
}

/// Judges an expression without any data.
pub(super) fn check(text: &str) -> Result<Checked, ExpressionError> {
    if text.len() > MAX_BYTES {
        let reason = format!("it is longer than {MAX_BYTES} bytes; shorten it");
        return Err(ExpressionError::new(text, 0, reason));
    }
    let tokens = tokens(text)?;
    let mut reader = Reader { text, tokens: &tokens, next: 0, state: State::default() };
    let kind = reader.expression()?;
    reader.end(kind)?;
    Ok(Checked { uses: reader.state.uses })
}

/// An expression on its way in.
struct Reader<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    next: usize,
    state: State,
}

#[derive(Default)]
struct State {
    uses: Uses,
    levels: usize,
    index_levels: usize,
    operators: usize,
    /// Inside the predicate of a function, where `#` is an element.
    in_predicate: bool,
    /// How often `#` was met.
    elements: usize,
}

type Found = Result<Kind, ExpressionError>;

impl<'a> Reader<'a> {
    /// A whole expression, branches included.
    fn expression(&mut self) -> Found {
        self.deeper()?;
        let at = self.here();
        let mut kind = self.operation(0)?;
        if self.takes("?") {
            self.operator()?;
            self.expect(kind, Kind::Bool, at, "the condition of `? :`")?;
            let yes = self.expression()?;
            self.require(":")?;
            kind = yes.or(self.expression()?);
        }
        self.state.levels -= 1;
        Ok(kind)
    }

    fn end(&self, kind: Kind) -> Result<(), ExpressionError> {
        if self.peek() != Word::End {
            return self.refuse(self.here(), "an operator is missing before this");
        }
        match kind {
            Kind::Bool | Kind::Any => Ok(()),
            other => self.refuse(
                0,
                format!("it is {other}, but has to say yes or no; compare it with something"),
            ),
        }
    }

    fn expect(
        &self,
        kind: Kind,
        wanted: Kind,
        at: usize,
        what: &str,
    ) -> Result<(), ExpressionError> {
        if kind.fits(wanted) {
            return Ok(());
        }
        self.refuse(at, format!("{what} has to be {wanted}, and this is {kind}"))
    }

    fn deeper(&mut self) -> Result<(), ExpressionError> {
        self.state.levels += 1;
        if self.state.levels > MAX_LEVELS {
            return self.refuse(self.here(), format!("it nests deeper than {MAX_LEVELS} levels"));
        }
        Ok(())
    }

    fn operator(&mut self) -> Result<(), ExpressionError> {
        self.state.operators += 1;
        if self.state.operators > MAX_OPERATORS {
            let reason = format!(
                "it has more than {MAX_OPERATORS} operators; write `x in [1, 2]` for several comparisons"
            );
            return self.refuse(self.here(), reason);
        }
        Ok(())
    }

    fn peek(&self) -> Word<'a> {
        self.tokens.get(self.next).map_or(Word::End, |token| token.word)
    }

    fn here(&self) -> usize {
        self.tokens.get(self.next).map_or(self.text.len(), |token| token.at)
    }

    fn advance(&mut self) -> Token<'a> {
        let token = Token { word: self.peek(), at: self.here() };
        self.next += 1;
        token
    }

    fn takes(&mut self, symbol: &str) -> bool {
        let taken = matches!(self.peek(), Word::Symbol(next) if next == symbol);
        self.next += usize::from(taken);
        taken
    }

    fn require(&mut self, symbol: &str) -> Result<(), ExpressionError> {
        if self.takes(symbol) {
            return Ok(());
        }
        self.refuse(self.here(), format!("`{symbol}` is missing"))
    }

    fn refuse<T>(&self, at: usize, reason: impl Into<String>) -> Result<T, ExpressionError> {
        Err(ExpressionError::new(self.text, at, reason))
    }
}
