//! Steps through a text, one token at a time.

use super::error::{JsonReadError, Problem};

/// A text and how far it was read.
pub(super) struct Scanner<'a> {
    text: &'a str,
    rest: &'a str,
}

/// Whether a key without quotes, a constant or a constructor may begin with `character`.
pub(super) fn is_word_start(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '_' | '$')
}

fn is_word(character: char) -> bool {
    is_word_start(character) || character.is_numeric()
}

impl<'a> Scanner<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { text, rest: text }
    }

    pub(super) fn offset(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    pub(super) fn rest(&self) -> &'a str {
        self.rest
    }

    /// The offset of the next token.
    pub(super) fn skip_space(&mut self) -> usize {
        self.rest = self.rest.trim_start();
        self.offset()
    }

    /// The first character of the next token.
    pub(super) fn peek(&mut self) -> Option<char> {
        self.skip_space();
        self.rest.chars().next()
    }

    /// The next character, white space included.
    pub(super) fn bump(&mut self) -> Option<char> {
        let mut characters = self.rest.chars();
        let character = characters.next()?;
        self.rest = characters.as_str();
        Some(character)
    }

    /// Steps over so many bytes of what is known to be there.
    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The longest run of characters that are `wanted`, which may be empty.
    pub(super) fn run(&mut self, wanted: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest;
        self.rest = rest.trim_start_matches(wanted);
        rest.get(..rest.len() - self.rest.len()).unwrap_or_default()
    }

    /// A name; empty when there is none.
    pub(super) fn word(&mut self) -> &'a str {
        self.run(is_word)
    }

    /// Steps over `token` if it is next.
    pub(super) fn eat(&mut self, token: char) -> bool {
        self.skip_space();
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub(super) fn expect(
        &mut self,
        token: char,
        wanted: &'static str,
    ) -> Result<(), JsonReadError> {
        if self.eat(token) { Ok(()) } else { Err(self.expected(wanted)) }
    }

    /// Steps over a comma, which may be left out before `close`.
    pub(super) fn comma_before(
        &mut self,
        close: char,
        wanted: &'static str,
    ) -> Result<(), JsonReadError> {
        if self.peek() == Some(close) { Ok(()) } else { self.expect(',', wanted) }
    }

    /// A literal must not run into what follows: `12ab` is no number.
    pub(super) fn boundary(&self) -> Result<(), JsonReadError> {
        match self.rest.chars().next() {
            Some(next) if is_word(next) || next == '.' => {
                Err(self.expected("the end of the literal"))
            }
            _ => Ok(()),
        }
    }

    /// Only white space may be left.
    pub(super) fn end(&mut self) -> Result<(), JsonReadError> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the text")),
        }
    }

    pub(super) fn expected(&self, wanted: &'static str) -> JsonReadError {
        let found = match self.rest.chars().next() {
            Some(character) => format!("`{}`", character.escape_default()),
            None => "the end of the text".to_owned(),
        };
        self.error(Problem::expected(wanted, found))
    }

    pub(super) fn error(&self, problem: Problem) -> JsonReadError {
        self.error_at(self.offset(), problem)
    }

    pub(super) fn error_at(&self, offset: usize, problem: Problem) -> JsonReadError {
        JsonReadError::at(self.text, offset, problem)
    }
}
