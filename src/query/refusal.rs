//! Why a filter or a stage cannot be decided in process.

use bson::spec::ElementType;

/// What lies outside the subset that is proven to answer as MongoDB does. The planner falls back
/// to a cursor of its own, or refuses the definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The filter itself is not BSON.
    #[error("read a filter that is not well-formed bson")]
    Malformed,
    /// More bytes than any sensible filter.
    #[error("read a filter of more than {limit} bytes; shorten its lists")]
    TooLarge {
        /// The largest accepted size in bytes.
        limit: usize,
    },
    /// Documents, arrays or operators nested too deep.
    #[error("read a filter nested deeper than {limit} levels")]
    TooDeep {
        /// The deepest accepted level.
        limit: usize,
    },
    /// A path with too many components.
    #[error("read a path of more than {limit} components")]
    LongPath {
        /// The largest accepted number.
        limit: usize,
    },
    /// A path with too many numeric components, each of which doubles the ways through a document.
    #[error("read path {path:?} with more than {limit} numeric components")]
    ManyPositions {
        /// The path as written.
        path: String,
        /// The largest accepted number.
        limit: usize,
    },
    /// A path with an empty component, on which the server's own commands disagree.
    #[error("read path {path:?}: a component is empty")]
    EmptyComponent {
        /// The path as written.
        path: String,
    },
    /// A path with a component that looks like an operator.
    #[error("read path {path:?}: a component starts with '$'")]
    DollarComponent {
        /// The path as written.
        path: String,
    },
    /// A field that the server sees in its oplog but not in the event.
    #[error("match on {path:?}: change events do not carry it")]
    NotInEvents {
        /// The path as written.
        path: String,
    },
    /// An operator outside the subset, or in a place where it does not belong.
    #[error("match {operator:?} at {path:?} in process; it needs a cursor of its own")]
    Operator {
        /// The operator as written.
        operator: String,
        /// The path it applies to; empty at the top.
        path: String,
    },
    /// An operator of the subset whose argument is not.
    #[error("read the argument of {operator} at {path:?}: expected {expected}")]
    Argument {
        /// The operator.
        operator: &'static str,
        /// The path it applies to; empty at the top.
        path: String,
        /// What is accepted.
        expected: &'static str,
    },
    /// An operand of a type whose comparison is not proven.
    #[error("compare {path:?} with a value of type {kind:?} in process")]
    OperandType {
        /// The path.
        path: String,
        /// The operand's type.
        kind: ElementType,
    },
    /// A literal that looks like a database reference.
    #[error("compare {path:?} with a database reference in process")]
    DbRef {
        /// The path.
        path: String,
    },
    /// A regular expression that is more than literal text.
    #[error(
        "match {path:?} with /{pattern}/ in process; only literal text, or ^ and literal text, without options"
    )]
    Pattern {
        /// The path.
        path: String,
        /// The pattern.
        pattern: String,
    },
    /// A name twice in one document of a filter written in configuration.
    #[error("read {name:?} twice in one document; combine the conditions with $and")]
    DuplicateKey {
        /// The repeated name.
        name: String,
    },
    /// A variable inside a literal, where it would be taken for text.
    #[error("bind a variable inside a literal at {path:?}; compare the field itself")]
    NestedSlot {
        /// The path.
        path: String,
    },
    /// A variable as the list of a negated `$in`: an empty list would match everything.
    #[error("bind a list under a negation at {path:?}; name the accepted values instead")]
    NegatedList {
        /// The path.
        path: String,
    },
    /// A variable used as one value and as a list, or one too many.
    #[error(
        "bind slot {slot} at {path:?}: it is used both as a value and as a list, or its number is too large"
    )]
    Slot {
        /// The slot.
        slot: u16,
        /// The path.
        path: String,
    },
    /// A stage that is not evaluated in process.
    #[error("evaluate stage {stage:?} in process; it needs a cursor of its own")]
    Stage {
        /// The stage's name.
        stage: String,
    },
    /// A stage of the subset with a specification outside it.
    #[error("evaluate {stage} at {path:?} in process: {reason}")]
    StageField {
        /// The stage's name.
        stage: &'static str,
        /// The field.
        path: String,
        /// What is wrong.
        reason: &'static str,
    },
}
