//! The functions that an expression may call: those whose work is bounded by what they are given,
//! and whose result depends on nothing else.

use super::kind::Kind::{self, Any, Bool, List, Map, Number, Text};

/// One function.
#[derive(Clone, Copy, Debug)]
pub(super) struct Function {
    pub(super) name: &'static str,
    /// What every argument has to be.
    pub(super) argument: Kind,
    /// Fewest and most arguments, a predicate not counted.
    pub(super) arguments: (usize, usize),
    pub(super) predicate: Predicate,
    pub(super) result: Kind,
}

/// Whether a function asks something of each element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predicate {
    Never,
    Maybe,
    Always,
}
use Predicate::{Always, Maybe, Never};

type Row = (&'static str, Kind, (usize, usize), Predicate, Kind);

#[rustfmt::skip]
const FUNCTIONS: &[Row] = &[
    ("len",         Any,    (1, 1), Never,  Number),
    ("lower",       Text,   (1, 1), Never,  Text),
    ("upper",       Text,   (1, 1), Never,  Text),
    ("trim",        Text,   (1, 2), Never,  Text),
    ("trimPrefix",  Text,   (2, 2), Never,  Text),
    ("trimSuffix",  Text,   (2, 2), Never,  Text),
    ("hasPrefix",   Text,   (2, 2), Never,  Bool),
    ("hasSuffix",   Text,   (2, 2), Never,  Bool),
    ("indexOf",     Text,   (2, 2), Never,  Number),
    ("lastIndexOf", Text,   (2, 2), Never,  Number),
    ("abs",         Number, (1, 1), Never,  Number),
    ("ceil",        Number, (1, 1), Never,  Number),
    ("floor",       Number, (1, 1), Never,  Number),
    ("round",       Number, (1, 1), Never,  Number),
    ("int",         Any,    (1, 1), Never,  Number),
    ("float",       Any,    (1, 1), Never,  Number),
    ("string",      Any,    (1, 1), Never,  Text),
    ("type",        Any,    (1, 1), Never,  Text),
    ("max",         Any,    (1, 8), Never,  Any),
    ("min",         Any,    (1, 8), Never,  Any),
    ("mean",        List,   (1, 1), Never,  Number),
    ("median",      List,   (1, 1), Never,  Number),
    ("first",       List,   (1, 1), Never,  Any),
    ("last",        List,   (1, 1), Never,  Any),
    ("keys",        Map,    (1, 1), Never,  List),
    ("values",      Map,    (1, 1), Never,  List),
    ("sum",         List,   (1, 1), Maybe,  Number),
    ("count",       List,   (1, 1), Maybe,  Number),
    ("any",         List,   (1, 1), Always, Bool),
    ("all",         List,   (1, 1), Always, Bool),
    ("one",         List,   (1, 1), Always, Bool),
    ("none",        List,   (1, 1), Always, Bool),
    ("filter",      List,   (1, 1), Always, List),
    ("map",         List,   (1, 1), Always, List),
    ("find",        List,   (1, 1), Always, Any),
    ("findIndex",   List,   (1, 1), Always, Number),
];

/// The function of a name.
pub(super) fn find(name: &str) -> Option<Function> {
    let row = FUNCTIONS.iter().find(|row| row.0 == name)?;
    let (name, argument, arguments, predicate, result) = *row;
    Some(Function { name, argument, arguments, predicate, result })
}

/// Every name.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    FUNCTIONS.iter().map(|row| row.0)
}
