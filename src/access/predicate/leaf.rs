use super::arguments::Item;
use super::attribute::Attribute;
use super::pattern::Pattern;
use super::template::PathTemplate;

/// One predicate with its arguments.
#[derive(Debug, Clone)]
pub(super) enum Leaf {
    /// Decided already: what a request without a body always answers.
    Constant(bool),
    Path(Vec<Item>),
    PathPrefix(Vec<Item>),
    PathSuffix(Vec<Item>),
    PathTemplate(PathTemplate, Attribute),
    Regex(Pattern, Attribute),
    Method(Vec<Item>),
    Equals(Vec<Attribute>),
    Contains {
        value: Attribute,
        search: Vec<Item>,
    },
    Exists(Attribute),
    Secure,
    Idempotent,
    /// Every name of a query parameter is among these.
    ParametersWithin(Vec<Item>),
    ParametersWithout(Vec<Item>),
    ParametersWithAll(Vec<Item>),
    /// How many names there are.
    ParametersCount(i64),
    In {
        array: Vec<Item>,
        value: Attribute,
    },
    AtLeast(Attribute, Attribute),
    AtMost(Attribute, Attribute),
}
