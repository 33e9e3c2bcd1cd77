use std::borrow::Cow;

use bson::{Bson, DateTime, Document};

use super::principal::{Caller, Mechanism, Principal};
use super::properties;
use super::request::RequestHead;

/// A value that is only known once somebody calls, like `@user.team` or `@now`.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Variable {
    /// `@user`: all properties.
    UserDocument,
    /// `@user.a.b`: a dotted path into them.
    User(String),
    /// `%USER`: the name of the principal.
    UserName,
    /// `@roles`: what permissions are looked up by, so `$unauthenticated` for strangers.
    Roles,
    /// `%ROLES`: those of the account, so none for strangers.
    AccountRoles,
    /// `@authenticated`.
    Authenticated,
    /// `@now`: when the request came, whole seconds.
    Now,
    /// `@qparams['k']`: the first value of a query parameter.
    Parameter(String),
    Request(RequestProperty),
    /// A variable that never has a value here: `@rnd(n)` equals nothing by design, and a reading
    /// request has no `@request.body`.
    Never(String),
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RequestProperty {
    Database,
    Collection,
    Document,
    UserName,
    EpochTimestamp,
    DateTime,
    LocalIp,
    LocalPort,
    LocalServerName,
    QueryString,
    ResourceType,
    RelativePath,
    RemoteIp,
    Method,
    Protocol,
}

/// What values are taken from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scope<'a> {
    pub(super) head: &'a RequestHead,
    pub(super) caller: &'a Caller,
}

/// What a whole string of a filter is.
#[derive(Debug, PartialEq)]
pub(super) enum Text {
    Literal,
    Variable(Variable),
    /// It starts like a variable that is known, and is none.
    Malformed,
}

impl Variable {
    /// A name from a predicate, with what stood in the brackets behind it.
    pub(super) fn in_predicate(name: &str, argument: Option<&str>) -> Option<Self> {
        match (name, argument) {
            ("@user", _) => None,
            ("@qparams", Some(parameter)) => Some(Self::Parameter(parameter.to_owned())),
            ("@rnd", Some(_)) => Some(Self::Never(name.to_owned())),
            (_, None) => Self::plain(name),
            _ => None,
        }
    }

    /// A string from a filter. Unknown names are texts like any other.
    pub(super) fn in_filter(text: &str) -> Text {
        match text {
            "%USER" => return Text::Variable(Self::UserName),
            "%ROLES" => return Text::Variable(Self::AccountRoles),
            "%NOW" => return Text::Variable(Self::Now),
            "@user" => return Text::Variable(Self::UserDocument),
            _ => {}
        }
        let Some(name) = text.strip_prefix('@') else { return Text::Literal };
        let root = name.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap_or("");
        if !ROOTS.contains(&root) {
            return Text::Literal;
        }
        match Self::plain(text).or_else(|| Self::with_argument(text)) {
            Some(variable) => Text::Variable(variable),
            None => Text::Malformed,
        }
    }

    fn plain(text: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("@user.") {
            let usable = path.split('.').all(|name| !name.is_empty());
            return usable.then(|| Self::User(path.to_owned()));
        }
        if let Some(property) = text.strip_prefix("@request.") {
            return RequestProperty::parse(property).map(Self::Request).or_else(|| {
                let is_body = property == "body" || property.starts_with("body.");
                is_body.then(|| Self::Never(text.to_owned()))
            });
        }
        Some(match text {
            "@now" => Self::Now,
            "@roles" => Self::Roles,
            "@authenticated" => Self::Authenticated,
            _ => return None,
        })
    }

    fn with_argument(text: &str) -> Option<Self> {
        if text.starts_with("@rnd(") {
            return text.ends_with(')').then(|| Self::Never("@rnd".to_owned()));
        }
        let quoted = text.strip_prefix("@qparams[")?.strip_suffix(']')?;
        let inside = |quote| quoted.strip_prefix(quote)?.strip_suffix(quote);
        inside('\'').or_else(|| inside('"')).map(|name| Self::Parameter(name.to_owned()))
    }

    /// The value, if there is one. `null` is none: in a filter it would stand for whatever lacks the
    /// field.
    pub(super) fn resolve<'a>(&self, scope: &Scope<'a>) -> Option<Cow<'a, Bson>> {
        let principal = scope.caller.principal();
        let owned = |value: Bson| Some(Cow::Owned(value));
        match self {
            Self::UserDocument => owned(Bson::Document(account(principal?))),
            Self::User(path) => properties::find(principal?.properties(), path)
                .filter(|value| !matches!(value, Bson::Null | Bson::Undefined))
                .map(Cow::Borrowed),
            Self::UserName => owned(Bson::String(principal?.id().to_owned())),
            Self::Roles => owned(texts(scope.caller.acl_roles())),
            Self::AccountRoles => owned(texts(scope.caller.roles())),
            Self::Authenticated => owned(Bson::Boolean(principal.is_some())),
            Self::Now => owned(Bson::DateTime(seconds(scope.head))),
            Self::Parameter(name) => {
                owned(Bson::String(scope.head.parameters(name).next()?.to_owned()))
            }
            Self::Request(property) => property.resolve(scope).map(Cow::Owned),
            Self::Never(_) => None,
        }
    }

    /// As it is written, for messages.
    pub(super) fn name(&self) -> String {
        match self {
            Self::UserDocument => "@user".to_owned(),
            Self::User(path) => format!("@user.{path}"),
            Self::UserName => "%USER".to_owned(),
            Self::Roles => "@roles".to_owned(),
            Self::AccountRoles => "%ROLES".to_owned(),
            Self::Authenticated => "@authenticated".to_owned(),
            Self::Now => "@now".to_owned(),
            Self::Parameter(name) => format!("@qparams['{name}']"),
            Self::Request(property) => format!("@request ({property:?})"),
            Self::Never(name) => name.clone(),
        }
    }
}

/// What starts a variable in a filter. Of these, a text that is not understood is an error and not
/// a literal: the author meant a variable. `@filter` and `@mongoPermissions` are understood nowhere.
const ROOTS: [&str; 9] = [
    "user",
    "request",
    "now",
    "roles",
    "authenticated",
    "qparams",
    "rnd",
    "filter",
    "mongoPermissions",
];

impl RequestProperty {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "db" => Self::Database,
            "collection" => Self::Collection,
            "_id" => Self::Document,
            "userName" => Self::UserName,
            "epochTimeStamp" => Self::EpochTimestamp,
            "dateTime" => Self::DateTime,
            "localIp" => Self::LocalIp,
            "localPort" => Self::LocalPort,
            "localServerName" => Self::LocalServerName,
            "queryString" => Self::QueryString,
            "resourceType" => Self::ResourceType,
            "relativePath" => Self::RelativePath,
            "remoteIp" => Self::RemoteIp,
            "method" => Self::Method,
            "protocol" => Self::Protocol,
            _ => return None,
        })
    }

    fn resolve(self, scope: &Scope<'_>) -> Option<Bson> {
        let (head, resource) = (scope.head, scope.head.resource());
        let text = |text: &str| Some(Bson::String(text.to_owned()));
        match self {
            Self::Database => resource.database.clone().map(Bson::String),
            Self::Collection => resource.collection.clone().map(Bson::String),
            Self::Document => resource.document.clone().map(Bson::String),
            Self::UserName => text(scope.caller.principal()?.id()),
            Self::EpochTimestamp => Some(Bson::DateTime(seconds(head))),
            Self::DateTime => seconds(head).try_to_rfc3339_string().ok().map(Bson::String),
            Self::LocalIp => text(&head.local()?.ip().to_string()),
            Self::LocalPort => Some(Bson::Int32(head.local()?.port().into())),
            Self::LocalServerName => text(head.server_name()?),
            Self::ResourceType => text(resource.kind?),
            Self::QueryString => text(head.query_string()),
            Self::RelativePath => text(head.path()),
            Self::RemoteIp => text(&head.remote_ip()?.to_string()),
            Self::Method => text(head.method()),
            Self::Protocol => text(head.protocol()),
        }
    }
}

fn texts(texts: &[String]) -> Bson {
    Bson::Array(texts.iter().cloned().map(Bson::String).collect())
}

/// What says nothing about the account is left out of a token's claims.
fn account(principal: &Principal) -> Document {
    let mut properties = principal.properties().clone();
    if principal.mechanism() == Mechanism::Token {
        properties.remove("exp");
        properties.remove("iss");
    }
    properties
}

fn seconds(head: &RequestHead) -> DateTime {
    let millis = DateTime::from_system_time(head.received()).timestamp_millis();
    DateTime::from_millis(millis.div_euclid(1000) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_variables_from_texts() {
        let variable = Text::Variable;
        let check = |text: &str, expected: Text| assert_eq!(Variable::in_filter(text), expected);
        check("@user", variable(Variable::UserDocument));
        check("@user._id", variable(Variable::User("_id".into())));
        check("@user.a.0.b", variable(Variable::User("a.0.b".into())));
        check("@now", variable(Variable::Now));
        check("%NOW", variable(Variable::Now));
        check("%USER", variable(Variable::UserName));
        check("%ROLES", variable(Variable::AccountRoles));
        check("@roles", variable(Variable::Roles));
        check("@qparams['k']", variable(Variable::Parameter("k".into())));
        check(r#"@qparams["k"]"#, variable(Variable::Parameter("k".into())));
        check("@request.remoteIp", variable(Variable::Request(RequestProperty::RemoteIp)));
        check("@x", Text::Literal);
        check("@username", Text::Literal);
        check("nora@user.com", Text::Literal);
        check("%USERS", Text::Literal);
        check("@user.", Text::Malformed);
        check("@user[0]", Text::Malformed);
        check("@request.nope", Text::Malformed);
        check("@qparams[k]", Text::Malformed);
        check("@filter", Text::Malformed);
        check("@mongoPermissions.readFilter", Text::Malformed);
    }
}
