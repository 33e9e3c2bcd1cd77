use super::arguments::{Given, Item};
use super::call::call;
use super::error::{PredicateError, PredicateProblem as Problem};
use super::leaf::Leaf;
use super::token::{Kind, Token, tokens};
use crate::access::variable::Variable;

/// Brackets and `not` in one another; deeper is refused, so that no text exhausts the stack.
pub(super) const MAX_DEPTH: usize = 64;

#[derive(Debug, Clone)]
pub(super) enum Expr {
    Constant(bool),
    Not(Box<Expr>),
    And(Vec<Expr>),
    Or(Vec<Expr>),
    Leaf(Box<Leaf>),
}

/// `not` binds tighter than `and`, `and` tighter than `or`.
pub(super) fn parse(text: &str) -> Result<Expr, PredicateError> {
    let tokens = joined(tokens(text)?);
    if tokens.is_empty() {
        return Err(Problem::Empty.at(0));
    }
    let mut parser = Parser { tokens: tokens.into_iter().peekable(), depth: 0, end: text.len() };
    let expr = parser.or()?;
    match parser.tokens.next() {
        None => Ok(expr),
        Some(token) => Err(unexpected("`and`, `or` or the end", Some(&token), 0)),
    }
}

/// Line breaks end an expression, unless the next line starts with an operator.
fn joined(tokens: Vec<Token>) -> Vec<Token> {
    let mut kept: Vec<Token> = Vec::with_capacity(tokens.len());
    let mut breaks: Option<Token> = None;
    for token in tokens {
        if token.kind == Kind::Newline {
            breaks = Some(token);
            continue;
        }
        let broken = breaks.take().filter(|_| !kept.is_empty() && !is_operator(&token.kind));
        kept.extend(broken);
        kept.push(token);
    }
    kept
}

struct Parser {
    tokens: std::iter::Peekable<std::vec::IntoIter<Token>>,
    depth: usize,
    /// Length of the text: where an unexpected end is.
    end: usize,
}

impl Parser {
    fn or(&mut self) -> Result<Expr, PredicateError> {
        let mut terms = vec![self.and()?];
        while self.eat_word("or") {
            terms.push(self.and()?);
        }
        Ok(single(terms, Expr::Or))
    }

    fn and(&mut self) -> Result<Expr, PredicateError> {
        let mut terms = vec![self.unary()?];
        while self.eat_word("and") {
            terms.push(self.unary()?);
        }
        Ok(single(terms, Expr::And))
    }

    fn unary(&mut self) -> Result<Expr, PredicateError> {
        let token = self.tokens.next();
        match token.as_ref().map(|token| &token.kind) {
            Some(Kind::Special('(')) => self.nested(|parser| {
                let expr = parser.or()?;
                parser.expect(')', "`)`")?;
                Ok(expr)
            }),
            Some(Kind::Word(word)) => match word.as_str() {
                "not" => Ok(Expr::Not(Box::new(self.nested(Self::unary)?))),
                "and" | "or" => Err(self.unexpected("a predicate", token.as_ref())),
                "true" => Ok(Expr::Constant(true)),
                "false" => Ok(Expr::Constant(false)),
                name => self.call(name, token.as_ref().map_or(0, |token| token.at)),
            },
            _ => Err(self.unexpected("a predicate", token.as_ref())),
        }
    }

    fn nested(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<Expr, PredicateError>,
    ) -> Result<Expr, PredicateError> {
        if self.depth == MAX_DEPTH {
            let at = self.tokens.peek().map_or(self.end, |token| token.at);
            return Err(Problem::TooDeep(MAX_DEPTH).at(at));
        }
        self.depth += 1;
        let expr = read(self)?;
        self.depth -= 1;
        Ok(expr)
    }

    fn call(&mut self, name: &str, at: usize) -> Result<Expr, PredicateError> {
        let given = match self.peek() {
            Some(Kind::Special('(')) => self.arguments(')')?,
            Some(Kind::Special('[')) => self.arguments(']')?,
            _ => Given::Nothing,
        };
        let leaf = call(name, given).map_err(|problem| problem.at(at))?;
        Ok(Expr::Leaf(Box::new(leaf)))
    }

    fn arguments(&mut self, close: char) -> Result<Given, PredicateError> {
        self.tokens.next();
        if self.eat(close) {
            return Ok(Given::Nothing);
        }
        if self.eat('{') {
            let items = self.array()?;
            self.expect(close, "the closing bracket")?;
            return Ok(Given::List(items));
        }
        let first = self.value()?;
        match (&first, self.peek()) {
            (Item::Text(name), Some(Kind::Special('='))) => {
                let name = name.clone();
                self.named(name, close)
            }
            _ => self.positional(first, close),
        }
    }

    fn positional(&mut self, first: Item, close: char) -> Result<Given, PredicateError> {
        let mut items = vec![first];
        while self.eat(',') {
            items.push(self.value()?);
            if self.peek() == Some(&Kind::Special('=')) {
                return Err(self.here(Problem::Mixed));
            }
        }
        self.expect(close, "`,` or the closing bracket")?;
        Ok(match items.len() {
            1 => Given::One(items.remove(0)),
            _ => Given::List(items),
        })
    }

    fn named(&mut self, first: String, close: char) -> Result<Given, PredicateError> {
        let mut name = first;
        let mut named = Vec::new();
        loop {
            self.expect('=', "`=`")?;
            let value = match self.eat('{') {
                true => Given::List(self.array()?),
                false => Given::One(self.value()?),
            };
            named.push((name, value));
            let more = self.eat(',');
            if self.eat(close) {
                return Ok(Given::Named(named));
            }
            name = match more.then(|| self.value()).transpose()? {
                Some(Item::Text(name)) if self.peek() == Some(&Kind::Special('=')) => name,
                Some(_) => return Err(self.here(Problem::Mixed)),
                None => return Err(self.unexpected_next("`,` or the closing bracket")),
            };
        }
    }

    /// What follows `{`.
    fn array(&mut self) -> Result<Vec<Item>, PredicateError> {
        let mut items = Vec::new();
        if self.eat('}') {
            return Ok(items);
        }
        loop {
            items.push(self.value()?);
            if self.eat('}') {
                return Ok(items);
            }
            self.expect(',', "`,` or `}`")?;
        }
    }

    fn value(&mut self) -> Result<Item, PredicateError> {
        let token = self.tokens.next();
        let at = token.as_ref().map_or(self.end, |token| token.at);
        match token.map(|token| token.kind) {
            Some(kind @ Kind::Word(_)) if is_operator(&kind) => {
                Err(unexpected("a value", Some(&Token { kind, at }), at))
            }
            Some(Kind::Word(text) | Kind::Quoted(text)) => match embedded_variable(&text) {
                true => Err(Problem::VariableInText(text).at(at)),
                false => Ok(Item::Text(text)),
            },
            Some(Kind::Variable { name, argument }) => {
                Variable::in_predicate(&name, argument.as_deref())
                    .map(Item::Variable)
                    .ok_or_else(|| Problem::UnknownVariable(name).at(at))
            }
            Some(kind) => Err(unexpected("a value", Some(&Token { kind, at }), at)),
            None => Err(unexpected("a value", None, at)),
        }
    }

    fn peek(&mut self) -> Option<&Kind> {
        self.tokens.peek().map(|token| &token.kind)
    }

    fn eat(&mut self, special: char) -> bool {
        self.tokens.next_if(|token| token.kind == Kind::Special(special)).is_some()
    }

    fn eat_word(&mut self, word: &str) -> bool {
        self.tokens.next_if(|token| matches!(&token.kind, Kind::Word(w) if w == word)).is_some()
    }

    fn expect(&mut self, special: char, expected: &'static str) -> Result<(), PredicateError> {
        match self.eat(special) {
            true => Ok(()),
            false => Err(self.unexpected_next(expected)),
        }
    }

    fn unexpected_next(&mut self, expected: &'static str) -> PredicateError {
        unexpected(expected, self.tokens.peek(), self.end)
    }

    fn unexpected(&self, expected: &'static str, token: Option<&Token>) -> PredicateError {
        unexpected(expected, token, self.end)
    }

    fn here(&mut self, problem: Problem) -> PredicateError {
        problem.at(self.tokens.peek().map_or(self.end, |token| token.at))
    }
}

fn single(mut terms: Vec<Expr>, many: impl FnOnce(Vec<Expr>) -> Expr) -> Expr {
    match terms.len() {
        1 => terms.remove(0),
        _ => many(terms),
    }
}

fn is_operator(kind: &Kind) -> bool {
    matches!(kind, Kind::Word(word) if matches!(word.as_str(), "and" | "or" | "not"))
}

/// RESTHeart would paste the value over it; here it would be compared as the text it is, and a
/// caller can send that text.
fn embedded_variable(text: &str) -> bool {
    text.match_indices("@user.").any(|(at, _)| {
        !text[..at].ends_with(|c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '+'))
    })
}

fn unexpected(expected: &'static str, token: Option<&Token>, end: usize) -> PredicateError {
    let found = match token.map(|token| &token.kind) {
        Some(Kind::Word(text) | Kind::Quoted(text)) => format!("`{text}`"),
        Some(Kind::Variable { name, .. }) => format!("`{name}`"),
        Some(Kind::Special(special)) => format!("`{special}`"),
        Some(Kind::Newline) => "a line break".to_owned(),
        None => "the end".to_owned(),
    };
    Problem::Unexpected { expected, found }.at(token.map_or(end, |token| token.at))
}
