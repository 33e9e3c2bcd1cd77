/// Why a text is no predicate, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{problem} (at byte {at})")]
pub struct PredicateError {
    /// Offset into the text, in bytes.
    pub at: usize,
    pub problem: PredicateProblem,
}

/// What is wrong with the text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PredicateProblem {
    #[error("the predicate is empty; write `true` to match every request")]
    Empty,
    #[error("the predicate is longer than {0} bytes")]
    TooLong(usize),
    #[error("the predicate nests deeper than {0} levels")]
    TooDeep(usize),
    #[error("expected {expected}, found {found}")]
    Unexpected { expected: &'static str, found: String },
    #[error("a quote opens inside a word; put a space or a comma before it")]
    QuoteInWord,
    #[error("a quote is not closed on its line")]
    OpenQuote,
    #[error("`{0}` is not closed; write it without spaces, like %{{i,Name}}")]
    OpenVariable(String),
    #[error("`{0}` ends the predicate in the middle of a word")]
    Dangling(char),
    #[error("`->` belongs to handlers, not to predicates")]
    Arrow,
    #[error("there is no predicate `{0}`")]
    UnknownPredicate(String),
    #[error("`{predicate}` has no parameter `{parameter}`")]
    UnknownParameter { predicate: &'static str, parameter: String },
    #[error("`{predicate}` needs its parameter `{parameter}`")]
    MissingParameter { predicate: &'static str, parameter: &'static str },
    #[error("`{0}` has no default parameter; name its parameters")]
    NoDefault(&'static str),
    #[error("named parameters and plain values cannot be mixed")]
    Mixed,
    #[error("`{predicate}` takes one value for `{parameter}`, not a list")]
    NotAList { predicate: &'static str, parameter: &'static str },
    #[error("`{0}` needs at least one value")]
    EmptyList(&'static str),
    #[error("`{0}` compares two values")]
    NotTwo(&'static str),
    #[error("`{0}` is not an integer")]
    NotAnInteger(String),
    #[error("`{0}` is not known here; quote it if it is meant as text")]
    UnknownVariable(String),
    #[error("`{0}` is a variable inside a text, where nothing is put in; use the variable alone")]
    VariableInText(String),
    #[error("`{0}` must be written out: it cannot be a variable")]
    VariableNotAllowed(&'static str),
    #[error("`{0}` is no attribute of a request")]
    UnknownAttribute(String),
    #[error("`{0}` is not a usable path template: {1}")]
    Template(String, &'static str),
    #[error("the regular expression {0}")]
    Pattern(String),
}

impl PredicateProblem {
    pub(super) fn at(self, at: usize) -> PredicateError {
        PredicateError { at, problem: self }
    }
}
