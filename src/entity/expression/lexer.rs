//! The words of an expression.

use super::error::ExpressionError;

/// One word and the byte where it starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) word: Word<'a>,
    pub(super) at: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// A variable, function, field or operator that is spelled out; `#` and what hangs on it.
    Name(&'a str),
    Number,
    /// A string with its quotes.
    Text(&'a str),
    Symbol(&'static str),
    End,
}

/// Longer ones first, so that `<=` is not read as `<`.
const SYMBOLS: &[&str] = &[
    "??", "?.", "||", "&&", "==", "!=", "<=", ">=", "**", "(", ")", "[", "]", "{", "}", ",", ":",
    ".", "?", "<", ">", "!", "+", "-", "*", "/", "%", "^",
];

/// What the language has and is refused, with the way out.
const REFUSED: &[(&str, &str)] = &[
    ("//", "comments have no place here; write them in the file, after a `#`"),
    ("/*", "comments have no place here; write them in the file, after a `#`"),
    ("..", "ranges are not allowed; compare with `>=` and `<=`"),
    ("|", "pipes are not allowed; write `lower(x)` for `x | lower()`"),
    (";", "`let` is not allowed; write one expression"),
    ("=", "`=` assigns; compare with `==`"),
    ("&", "`&` is not an operator; write `and`"),
];

/// Splits an expression; the last token is [`Word::End`].
pub(super) fn tokens(text: &str) -> Result<Vec<Token<'_>>, ExpressionError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    loop {
        at += text[at..].bytes().take_while(|byte| b" \t\r\n".contains(byte)).count();
        let rest = &text[at..];
        let Some(first) = rest.chars().next() else { break };
        let (word, length) = match first {
            '"' | '\'' | '`' => quoted(text, at, first)?,
            '0'..='9' => (Word::Number, number(rest)),
            'A'..='Z' | 'a'..='z' | '_' | '$' | '#' => named(rest),
            _ => symbol(text, at)?,
        };
        tokens.push(Token { word, at });
        at += length;
    }
    tokens.push(Token { word: Word::End, at });
    Ok(tokens)
}

fn named(rest: &str) -> (Word<'_>, usize) {
    let follows = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let length = 1 + rest.bytes().skip(1).take_while(follows).count();
    (Word::Name(&rest[..length]), length)
}

/// The grammar judges what is a number; here only its end is found.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let hexadecimal = matches!(bytes, [b'0', b'x' | b'X', ..]);
    let mut length = 1;
    while let Some(byte) = bytes.get(length) {
        let fraction = *byte == b'.' && bytes.get(length + 1).is_some_and(u8::is_ascii_digit);
        let after_exponent = matches!(bytes[length - 1], b'e' | b'E') && !hexadecimal;
        let sign = after_exponent && matches!(byte, b'+' | b'-');
        if !(byte.is_ascii_alphanumeric() || *byte == b'_' || fraction || sign) {
            break;
        }
        length += 1;
    }
    length
}

fn quoted(text: &str, at: usize, quote: char) -> Result<(Word<'_>, usize), ExpressionError> {
    let rest = &text[at..];
    let mut escaped = false;
    for (offset, letter) in rest.char_indices().skip(1) {
        if letter == quote && !escaped {
            let length = offset + letter.len_utf8();
            return Ok((Word::Text(&rest[..length]), length));
        }
        escaped = letter == '\\' && !escaped && quote != '`';
    }
    Err(ExpressionError::new(text, at, format!("the text has no closing {quote}")))
}

fn symbol(text: &str, at: usize) -> Result<(Word<'_>, usize), ExpressionError> {
    let rest = &text[at..];
    let known = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol));
    let refused = REFUSED.iter().find(|(symbol, _)| rest.starts_with(symbol));
    match (known, refused) {
        // `||` is an operator and `|` is not; `/` is one and `//` is not.
        (Some(known), refused) if refused.is_none_or(|(other, _)| other.len() < known.len()) => {
            Ok((Word::Symbol(known), known.len()))
        }
        (_, Some((_, reason))) => Err(ExpressionError::new(text, at, *reason)),
        _ => {
            let letter = rest.chars().next().unwrap_or_default();
            let reason = format!("`{}` means nothing here", letter.escape_debug());
            Err(ExpressionError::new(text, at, reason))
        }
    }
}
