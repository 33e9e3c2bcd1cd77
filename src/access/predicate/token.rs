use super::error::{PredicateError, PredicateProblem as Problem};

/// A permission's predicate is a few lines; a longer one is a mistake or an attack.
pub(super) const MAX_BYTES: usize = 16 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    /// Offset in bytes.
    pub(super) at: usize,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    Word(String),
    /// Its content: never an operator, never a variable.
    Quoted(String),
    /// `@name.path`, or `@name['argument']`.
    Variable {
        name: String,
        argument: Option<String>,
    },
    Special(char),
    /// Only outside brackets.
    Newline,
}

pub(super) fn tokens(text: &str) -> Result<Vec<Token>, PredicateError> {
    if text.len() > MAX_BYTES {
        return Err(Problem::TooLong(MAX_BYTES).at(0));
    }
    let mut scanner = Scanner { text, at: 0, depth: 0, line_start: true, tokens: Vec::new() };
    while let Some(next) = scanner.peek() {
        scanner.token(next)?;
    }
    Ok(scanner.tokens)
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    /// Open brackets: inside them lines may break anywhere.
    depth: usize,
    /// Whether only a line break precedes: there `#` opens a comment.
    line_start: bool,
    tokens: Vec<Token>,
}

impl Scanner<'_> {
    fn token(&mut self, next: char) -> Result<(), PredicateError> {
        let at = self.at;
        let kind = match next {
            ' ' | '\t' | '\r' => {
                self.at += 1;
                return Ok(());
            }
            '#' if self.line_start => return self.comment(),
            '\n' => return self.newline(),
            '\'' | '"' => self.quoted(next)?,
            _ if is_special(next) => self.special(next),
            '@' => self.variable()?,
            _ => Kind::Word(self.word()?),
        };
        self.line_start = false;
        self.tokens.push(Token { kind, at });
        Ok(())
    }

    fn newline(&mut self) -> Result<(), PredicateError> {
        if self.depth == 0 {
            self.tokens.push(Token { kind: Kind::Newline, at: self.at });
        }
        self.at += 1;
        self.line_start = true;
        Ok(())
    }

    fn comment(&mut self) -> Result<(), PredicateError> {
        let rest = &self.text[self.at..];
        self.at += rest.find('\n').unwrap_or(rest.len());
        Ok(())
    }

    fn special(&mut self, special: char) -> Kind {
        self.at += special.len_utf8();
        match special {
            '(' | '[' | '{' => self.depth += 1,
            ')' | ']' | '}' => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        Kind::Special(special)
    }

    /// A backslash is only special before the delimiter, so that regular expressions stay readable.
    fn quoted(&mut self, delimiter: char) -> Result<Kind, PredicateError> {
        let start = self.at;
        self.at += 1;
        let mut content = String::new();
        while let Some(next) = self.peek().filter(|next| *next != '\n') {
            self.at += next.len_utf8();
            match next {
                '\\' if self.peek() == Some(delimiter) => {
                    content.push(delimiter);
                    self.at += 1;
                }
                _ if next == delimiter => return Ok(Kind::Quoted(content)),
                _ => content.push(next),
            }
        }
        Err(Problem::OpenQuote.at(start))
    }

    fn word(&mut self) -> Result<String, PredicateError> {
        let start = self.at;
        while let Some(next) = self.peek() {
            let rest = &self.text[self.at..];
            match next {
                '\'' | '"' => return Err(Problem::QuoteInWord.at(self.at)),
                ' ' | '\t' | '\r' | '\n' => break,
                _ if is_special(next) => break,
                '-' if rest.starts_with("->") => return Err(Problem::Arrow.at(self.at)),
                '%' | '$' | '-' if rest.len() == 1 => {
                    return Err(Problem::Dangling(next).at(self.at));
                }
                '%' | '$' if rest[1..].starts_with('{') => self.braces(rest)?,
                _ => self.at += next.len_utf8(),
            }
        }
        Ok(self.text[start..self.at].to_owned())
    }

    /// `%{…}` belongs to the word, whatever it holds but white space.
    fn braces(&mut self, rest: &str) -> Result<(), PredicateError> {
        let end = rest.find(|c: char| c == '}' || c.is_whitespace()).unwrap_or(rest.len());
        if !rest[end..].starts_with('}') {
            return Err(Problem::OpenVariable(rest[..end].to_owned()).at(self.at));
        }
        self.at += end + 1;
        Ok(())
    }

    fn variable(&mut self) -> Result<Kind, PredicateError> {
        let name = self.word()?;
        let close = match self.peek() {
            Some('[') => ']',
            Some('(') => ')',
            _ => return Ok(Kind::Variable { name, argument: None }),
        };
        let start = self.at;
        let length = self.text[start..].find([close, '\n']).unwrap_or(0);
        if !self.text[start + length..].starts_with(close) {
            return Err(Problem::OpenVariable(name).at(start));
        }
        self.at += length + 1;
        let argument = self.text[start + 1..start + length].trim();
        Ok(Kind::Variable { name, argument: Some(unquoted(argument).to_owned()) })
    }

    fn peek(&self) -> Option<char> {
        self.text[self.at..].chars().next()
    }
}

fn is_special(c: char) -> bool {
    matches!(c, '(' | ')' | '[' | ']' | '{' | '}' | ',' | '=' | ';')
}

fn unquoted(text: &str) -> &str {
    let inside = |quote| text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
    inside('\'').or_else(|| inside('"')).unwrap_or(text)
}
