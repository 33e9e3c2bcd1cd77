use std::borrow::Cow;
use std::collections::HashMap;
use std::net::SocketAddr;

use bson::Bson;

use super::arguments::Item;
use super::attribute::{Attribute, Part};
use super::grammar::Expr;
use super::leaf::Leaf;
use super::template::PathTemplate;
use crate::access::principal::Caller;
use crate::access::properties::scalar_text;
use crate::access::request::RequestHead;
use crate::access::variable::{Scope, Variable};

/// One judgement of one request. What `path-template`, `path-prefix` and `regex` bind lives as long
/// as it: nothing is carried from one permission to the next.
pub(super) struct Evaluation<'a> {
    scope: Scope<'a>,
    context: HashMap<String, String>,
}

/// Why a leaf has no answer.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Undecided {
    /// A variable has no value: "no", unless something negates it.
    Unresolved,
    /// The permission as a whole does not match, whatever stands around the leaf.
    Failed,
}

type Answer = Result<bool, Undecided>;
type Value<'v> = Option<Cow<'v, str>>;

impl<'a> Evaluation<'a> {
    pub(super) fn new(head: &'a RequestHead, caller: &'a Caller) -> Self {
        Self { scope: Scope { head, caller }, context: HashMap::new() }
    }

    pub(super) fn matches(&mut self, root: &Expr) -> bool {
        self.expr(root, false).unwrap_or(false)
    }

    /// From left to right, stopping as soon as the answer is known. The parser bounds the depth.
    fn expr(&mut self, expr: &Expr, negated: bool) -> Answer {
        match expr {
            Expr::Constant(constant) => Ok(*constant),
            Expr::Not(inner) => self.expr(inner, true).map(|held| !held),
            Expr::And(terms) => self.first(terms, negated, false),
            Expr::Or(terms) => self.first(terms, negated, true),
            Expr::Leaf(leaf) => match self.leaf(leaf) {
                Err(Undecided::Unresolved) if !negated => Ok(false),
                // "No" would turn into "yes": then the permission as a whole does not match.
                Err(_) => Err(Undecided::Failed),
                answer => answer,
            },
        }
    }

    /// The first term that answers `wanted` decides.
    fn first(&mut self, terms: &[Expr], negated: bool, wanted: bool) -> Answer {
        for term in terms {
            if self.expr(term, negated)? == wanted {
                return Ok(wanted);
            }
        }
        Ok(!wanted)
    }

    fn leaf(&mut self, leaf: &Leaf) -> Answer {
        let head = self.scope.head;
        match leaf {
            Leaf::Constant(constant) => Ok(*constant),
            Leaf::Path(paths) => self.any(paths, |path| trimmed(path) == trimmed(head.path())),
            Leaf::PathPrefix(paths) => self.path_prefix(paths),
            Leaf::PathSuffix(paths) => self.any(paths, |path| head.path().ends_with(path)),
            Leaf::PathTemplate(template, value) => self.path_template(template, value),
            Leaf::Regex(pattern, value) => self.regex(pattern, value),
            Leaf::Method(methods) => self.any(methods, |m| m.eq_ignore_ascii_case(head.method())),
            Leaf::Secure => Ok(head.is_secure()),
            Leaf::Idempotent => {
                Ok(matches!(head.method(), "GET" | "HEAD" | "OPTIONS" | "PUT" | "DELETE"))
            }
            Leaf::ParametersWithin(_)
            | Leaf::ParametersWithout(_)
            | Leaf::ParametersWithAll(_)
            | Leaf::ParametersCount(_) => self.parameters(leaf),
            _ => self.comparison(leaf),
        }
    }

    fn comparison(&self, leaf: &Leaf) -> Answer {
        match leaf {
            Leaf::Equals(attributes) => self.equals(attributes),
            Leaf::Contains { value, search } => {
                let (value, search) = (self.attribute(value)?, self.texts(search)?);
                Ok(value.is_some_and(|v| search.iter().any(|s| v.contains(s.as_ref()))))
            }
            Leaf::Exists(value) => Ok(self.attribute(value)?.is_some_and(|v| !v.is_empty())),
            Leaf::In { array, value } => {
                let (array, value) = (self.texts(array)?, self.attribute(value)?);
                let value = value.ok_or(Undecided::Failed)?;
                Ok(array.contains(&value))
            }
            Leaf::AtLeast(a, b) => self.numbers(a, b, |a, b| a >= b),
            Leaf::AtMost(a, b) => self.numbers(a, b, |a, b| a <= b),
            _ => Ok(false),
        }
    }

    fn any(&self, items: &[Item], holds: impl Fn(&str) -> bool) -> Answer {
        Ok(self.texts(items)?.iter().any(|text| holds(text)))
    }

    fn path_prefix(&mut self, paths: &[Item]) -> Answer {
        let path = self.scope.head.path();
        let remaining = |prefix: &str| match trimmed(prefix).as_ref() {
            "/" => Some(path),
            prefix => path.strip_prefix(prefix).filter(|r| r.is_empty() || r.starts_with('/')),
        };
        // The longest prefix leaves the shortest rest.
        let texts = self.texts(paths)?;
        let shortest = texts.iter().filter_map(|prefix| remaining(prefix)).min_by_key(|r| r.len());
        let Some(rest) = shortest else { return Ok(false) };
        self.context.insert("remaining".to_owned(), rest.to_owned());
        Ok(true)
    }

    fn path_template(&mut self, template: &PathTemplate, value: &Attribute) -> Answer {
        let Some(value) = self.attribute(value)?.map(Cow::into_owned) else { return Ok(false) };
        let Some(captures) = template.captures(&value) else { return Ok(false) };
        self.context.extend(captures.into_iter().map(|(n, v)| (n.to_owned(), v.to_owned())));
        Ok(true)
    }

    fn regex(&mut self, pattern: &super::pattern::Pattern, value: &Attribute) -> Answer {
        let Some(value) = self.attribute(value)?.map(Cow::into_owned) else { return Ok(false) };
        let captures = pattern.captures(&value).map_err(|_| Undecided::Failed)?;
        let Some(groups) = captures else { return Ok(false) };
        for (number, group) in groups.into_iter().enumerate() {
            match group {
                Some(group) => self.context.insert(number.to_string(), group.to_owned()),
                None => self.context.remove(&number.to_string()),
            };
        }
        Ok(true)
    }

    /// Fewer than two are equal. Two that are both absent are equal too.
    fn equals(&self, attributes: &[Attribute]) -> Answer {
        let mut values: Vec<Value<'_>> = Vec::with_capacity(attributes.len());
        for attribute in attributes {
            match attribute {
                Attribute::Variable(variable) => {
                    values.extend(self.variable(variable)?.into_iter().map(Some));
                }
                Attribute::Parts(parts) => values.push(self.parts(parts)),
            }
        }
        Ok(values.windows(2).all(|pair| pair[0] == pair[1]))
    }

    fn numbers(&self, a: &Attribute, b: &Attribute, holds: fn(f64, f64) -> bool) -> Answer {
        let (a, b) = (self.attribute(a)?, self.attribute(b)?);
        let number = |value: Value<'_>| value.as_deref().and_then(number);
        Ok(number(a).zip(number(b)).is_some_and(|(a, b)| holds(a, b)))
    }

    /// A name that is given twice counts once.
    fn parameters(&self, leaf: &Leaf) -> Answer {
        let mut names: Vec<&str> =
            self.scope.head.query().iter().map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let among = |list: &[Cow<'_, str>], name: &str| list.iter().any(|item| item == name);
        Ok(match leaf {
            Leaf::ParametersWithin(list) => {
                let list = self.texts(list)?;
                names.iter().all(|name| among(&list, name))
            }
            Leaf::ParametersWithout(list) => {
                let list = self.texts(list)?;
                !names.iter().any(|name| among(&list, name))
            }
            Leaf::ParametersWithAll(list) => {
                self.texts(list)?.iter().all(|wanted| names.contains(&wanted.as_ref()))
            }
            Leaf::ParametersCount(count) => i64::try_from(names.len()) == Ok(*count),
            _ => false,
        })
    }

    fn texts<'v>(&'v self, items: &'v [Item]) -> Result<Vec<Cow<'v, str>>, Undecided> {
        let mut texts = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Item::Text(text) => texts.push(Cow::Borrowed(text.as_str())),
                Item::Variable(variable) => texts.extend(self.variable(variable)?),
            }
        }
        Ok(texts)
    }

    /// One text, or those of an array.
    fn variable(&self, variable: &Variable) -> Result<Vec<Cow<'_, str>>, Undecided> {
        match variable.resolve(&self.scope).ok_or(Undecided::Unresolved)?.as_ref() {
            Bson::Array(items) => {
                Ok(items.iter().filter_map(scalar_text).map(Cow::Owned).collect())
            }
            value => Ok(vec![Cow::Owned(scalar_text(value).ok_or(Undecided::Unresolved)?)]),
        }
    }

    fn attribute(&self, attribute: &Attribute) -> Result<Value<'_>, Undecided> {
        match attribute {
            Attribute::Parts(parts) => Ok(self.parts(parts)),
            Attribute::Variable(variable) => {
                let mut texts = self.variable(variable)?;
                match (texts.pop(), texts.is_empty()) {
                    (Some(text), true) => Ok(Some(text)),
                    // A list where one value is wanted equals nothing.
                    _ => Err(Undecided::Unresolved),
                }
            }
        }
    }

    fn parts(&self, parts: &[Part]) -> Value<'_> {
        if let [part] = parts {
            return self.part(part);
        }
        Some(Cow::Owned(parts.iter().filter_map(|part| self.part(part)).collect()))
    }

    fn part(&self, part: &Part) -> Value<'_> {
        let head = self.scope.head;
        let borrowed = |text: &'a str| Some(Cow::Borrowed(text));
        let address = |a: Option<SocketAddr>| a.map(|a| Cow::Owned(a.ip().to_string()));
        match part {
            Part::Literal(text) => Some(Cow::Owned(text.clone())),
            Part::Context(name) => self.context.get(name).map(|v| Cow::Borrowed(v.as_str())),
            Part::Header(name) => listed(head.headers(name)),
            Part::Parameter(name) => listed(head.parameters(name)),
            Part::Cookie(name) => head.cookie(name).map(|value| Cow::Owned(value.to_owned())),
            Part::RemoteIp => head.remote_ip().map(|ip| Cow::Owned(ip.to_string())),
            Part::LocalIp => address(head.local()),
            Part::LocalPort => head.local().map(|local| Cow::Owned(local.port().to_string())),
            Part::LocalName => head.server_name().map(|name| Cow::Owned(name.to_owned())),
            Part::Method => borrowed(head.method()),
            Part::RawPath => borrowed(head.raw_path()),
            Part::Path => borrowed(head.path()),
            Part::Query => Some(Cow::Owned(question(head))),
            Part::BareQuery => borrowed(head.query_string()),
            Part::User => self.scope.caller.principal().map(|p| Cow::Borrowed(p.id())),
            Part::RequestLine => Some(Cow::Owned(request_line(head))),
            Part::Protocol => borrowed(head.protocol()),
            Part::Scheme => borrowed(if head.is_secure() { "https" } else { "http" }),
            Part::Secure => borrowed(if head.is_secure() { "true" } else { "false" }),
            Part::HostAndPort => head.host().map(|host| Cow::Owned(host.to_owned())),
            Part::Null => None,
        }
    }
}

/// One value as it is, several as a list in brackets.
fn listed<'v>(values: impl Iterator<Item = &'v str>) -> Value<'static> {
    let values: Vec<&str> = values.collect();
    match values.as_slice() {
        [] => None,
        [one] => Some(Cow::Owned((*one).to_owned())),
        many => Some(Cow::Owned(format!("[{}]", many.join(", ")))),
    }
}

/// A path with a slash in front and none behind.
fn trimmed(path: &str) -> Cow<'_, str> {
    let path = path.trim_end_matches('/');
    match path {
        "" => Cow::Borrowed("/"),
        _ if path.starts_with('/') => Cow::Borrowed(path),
        _ => Cow::Owned(format!("/{path}")),
    }
}

/// A decimal number, as both sides of a comparison would write it.
fn number(text: &str) -> Option<f64> {
    text.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

fn question(head: &RequestHead) -> String {
    match head.query_string() {
        "" => String::new(),
        query => format!("?{query}"),
    }
}

fn request_line(head: &RequestHead) -> String {
    format!("{} {}{} {}", head.method(), head.raw_path(), question(head), head.protocol())
}
