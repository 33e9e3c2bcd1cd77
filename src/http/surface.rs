//! What there is to be served.

use crate::catalog::Declarations;

/// What the routes of entity feeds need besides what all routes need.
#[derive(Debug, Clone)]
pub struct Feeds {
    /// Where they are mounted, like `/api`.
    pub prefix: String,
    /// What is declared.
    pub declarations: Declarations,
    /// Whether callers can be told apart at all. Where they cannot, nobody can be held to a tenant,
    /// and no feed is opened.
    pub identity: bool,
}
