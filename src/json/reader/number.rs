//! Numbers: int32 where it fits, else int64, else double.

use bson::Bson;

use super::error::{JsonReadError, Problem};
use super::scan::Scanner;

impl Scanner<'_> {
    /// A number of JSON's grammar, or `-Infinity`.
    pub(super) fn number(&mut self) -> Result<Bson, JsonReadError> {
        let start = self.rest();
        let begin = self.offset();
        if self.step('-') && self.rest().starts_with('I') {
            return self.minus_infinity();
        }
        self.whole()?;
        let has_point = self.step('.');
        if has_point {
            self.digits()?;
        }
        let has_exponent = self.step('e') || self.step('E');
        if has_exponent {
            let _ = self.step('-') || self.step('+');
            self.digits()?;
        }
        self.boundary()?;
        let text = start.get(..self.offset() - begin).unwrap_or_default();
        let number = if has_point || has_exponent { double(text) } else { integer(text) };
        number.ok_or_else(|| self.error_at(begin, Problem::OutOfRange))
    }

    fn minus_infinity(&mut self) -> Result<Bson, JsonReadError> {
        let begin = self.offset();
        match self.word() {
            "Infinity" => Ok(Bson::Double(f64::NEG_INFINITY)),
            word => Err(self.error_at(begin, Problem::unexpected("a number", word))),
        }
    }

    /// `0`, or digits that do not begin with it.
    fn whole(&mut self) -> Result<(), JsonReadError> {
        if self.step('0') { Ok(()) } else { self.digits() }
    }

    fn digits(&mut self) -> Result<(), JsonReadError> {
        match self.run(|character| character.is_ascii_digit()) {
            "" => Err(self.expected("a digit")),
            _ => Ok(()),
        }
    }

    /// Steps over one character, without white space before it.
    fn step(&mut self, character: char) -> bool {
        self.rest().starts_with(character) && self.bump().is_some()
    }
}

fn integer(text: &str) -> Option<Bson> {
    match text.parse::<i64>() {
        Ok(number) => Some(i32::try_from(number).map_or(Bson::Int64(number), Bson::Int32)),
        Err(_) => double(text),
    }
}

fn double(text: &str) -> Option<Bson> {
    text.parse().ok().filter(|number: &f64| number.is_finite()).map(Bson::Double)
}
