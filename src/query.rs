//! Does this document match, exactly as MongoDB would say.
//!
//! A filter is read from BSON into a tree ([`Filter::parse`]): a closed subset of MongoDB's query
//! language, everything else being a [`Refusal`] by name. The tree is evaluated on the raw bytes of
//! a document that has been read once ([`Checked`]), without decoding or allocating. What cannot be
//! judged is a [`MatchError`], never "no".
//!
//! | module | answers |
//! |---|---|
//! | [`filter`](Filter) | parsed once, bound per subscriber |
//! | `parse`, `options`, `refusal` | what a filter may say |
//! | `expr`, `evaluate` | whether it holds |
//! | `path`, `expand` | which elements a path reaches |
//! | `compare`, `number`, `decimal`, `wide` | how values are ordered, numbers exactly |
//! | `projection` | `$project`, `$unset` and constant `$set` |
//! | `index` | keys by which subscribers are found |
//! | `raw`, `value`, `check` | BSON bytes |

mod check;
mod compare;
mod decimal;
mod error;
mod evaluate;
mod expand;
mod expr;
mod filter;
mod index;
mod number;
mod operand;
mod options;
mod parse;
mod path;
mod pattern;
mod projection;
mod raw;
mod refusal;
mod slot;
mod types;
mod value;
mod wide;

pub use check::Checked;
pub use compare::values_equal;
pub use error::MatchError;
pub use filter::{BoundFilter, Filter};
pub use index::{IndexChoice, IndexTerm, Key, Keyer};
pub use options::{Duplicates, ParseOptions, Paths, SlotOf, UndefinedRule};
pub use path::Path;
pub use projection::Projection;
pub use refusal::Refusal;
pub use slot::{BindError, SlotValue};
