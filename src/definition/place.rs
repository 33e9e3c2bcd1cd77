//! Where in a stage a value stands: what decides whether a string is data or a field path.

/// The kind of place a value stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Outside every stage: the keys are stage names.
    Pipeline,
    /// In `$match`: values are compared as they stand.
    Query,
    /// The argument of a stage that computes: its keys are paths, each with an expression.
    Fields,
    /// In an expression: a string that starts with `$` is a field path.
    Expression,
    /// In `$literal` or `$unset`: never evaluated.
    Data,
}

impl Place {
    /// The place of the value that stands under `key` here.
    pub(crate) fn under(self, key: &str) -> Self {
        match (self, key) {
            (Self::Pipeline, "$match") => Self::Query,
            (Self::Pipeline, "$unset") => Self::Data,
            // Every other stage computes; an unknown one is refused, but is read strictly until then.
            (Self::Pipeline, _) => Self::Fields,
            (Self::Fields, "$literal") | (Self::Expression, "$literal") => Self::Data,
            (Self::Fields, _) | (Self::Query, "$expr") => Self::Expression,
            (place, _) => place,
        }
    }
}
