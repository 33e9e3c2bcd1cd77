//! How large an expression may be, and how much it may do. Declarations beyond these are refused.

/// Bytes of text.
pub(super) const MAX_BYTES: usize = 2048;

/// Parentheses, calls, lists and branches inside each other. The parser of the grammar recurses.
pub(super) const MAX_LEVELS: usize = 12;

/// Brackets of an index inside each other. The grammar tries each level twice.
pub(super) const MAX_INDEX_LEVELS: usize = 3;

/// Operators, `.field` included. Chains of them nest to the left in the tree, and evaluation
/// recurses.
pub(super) const MAX_OPERATORS: usize = 96;

/// Values that one evaluation may touch. Each mention of a variable copies it, and a predicate is
/// run once per element.
pub(super) const MAX_WORK: usize = 400_000;
