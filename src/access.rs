//! Who is calling, and what they may read.
//!
//! Plain data in, plain data out: the HTTP layer fills a [`RequestHead`], asks the
//! [`Authenticator`] who is calling and the [`Permissions`] what that caller may do, and turns the
//! answers into statuses. MongoDB is spoken to in [`realm::mongo`] and [`permissions::mongo`] only.
//!
//! Everything fails closed: a credential that is presented and does not hold is refused, a
//! permission that cannot be understood grants nothing, and a value that a filter asks for and the
//! caller lacks shows nothing.

mod authenticator;
mod cache;
mod credential;
mod guard;
mod hash;
pub mod jwt;
mod origin;
mod password;
pub mod permissions;
mod predicate;
mod principal;
mod properties;
pub mod realm;
mod refusal;
mod request;
mod scope;
mod secrecy;
#[cfg(test)]
mod support;
mod tickets;
mod variable;
mod yaml;

pub use self::authenticator::{Authenticator, Realms, StandIn, Standing};
pub(crate) use self::cache::Memory;
pub(crate) use self::guard::network;
pub use self::hash::{HashError, MAX_COST, hash_password};
pub use self::jwt::{JwtVerifier, SignError, sign_token};
pub use self::origin::{CorsHeaders, Origins, is_preflight};
pub use self::permissions::{
    Decision, Denial, FileError, Grant, PermissionError, PermissionProblem, Permissions,
    RequestKind,
};
pub use self::predicate::{Predicate, PredicateError, PredicateProblem};
pub use self::principal::{Caller, Carrier, Identity, Mechanism, Principal, UNAUTHENTICATED};
pub use self::refusal::Refusal;
pub use self::request::{RawRequest, RequestHead, Resource, TargetError};
pub use self::scope::{BindError, FilterError, ProjectError, ProjectResponse};
pub use self::secrecy::Secrecy;
pub use self::tickets::{Ticket, TicketError, TicketKey};
pub use self::yaml::YamlError;
