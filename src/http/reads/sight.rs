//! What a caller may ask of fields that are hidden from it: a condition on a field, or an order by it,
//! tells its value as well as showing it does.

use bson::{Bson, Document};

use crate::{
    binding::{Cut, Scope, Secrets},
    http::{documents::ReadQuery, error::ApiError},
};

/// A caller's view of a collection.
pub(super) struct Sight<'a> {
    cut: Option<Cut>,
    secrets: &'a Secrets,
}

/// Where a document stands, which recovery reads ask for: no projection hides it from conditions.
const POSITIONS: [&str; 2] = ["_id", "_etag"];

impl<'a> Sight<'a> {
    pub(super) fn of(scope: &'a Scope) -> Result<Self, ApiError> {
        let cut = scope.project_response.as_ref().map(Cut::parse).transpose();
        let cut = cut.map_err(|error| ApiError::Forbidden(error.to_string()))?;
        Ok(Self { cut, secrets: &scope.secrets })
    }

    /// Refuses conditions, orders and computed fields that could tell what is hidden.
    pub(super) fn check(&self, read: &ReadQuery) -> Result<(), ApiError> {
        if self.cut.is_none() && self.secrets.is_empty() {
            return Ok(());
        }
        read.filter.iter().try_for_each(|filter| self.check_filter(filter))?;
        read.sort.keys().try_for_each(|path| self.check_path(path))?;
        read.sort.values().chain(read.keys.values()).try_for_each(check_flag)
    }

    /// Fields are named at the level of the filter and inside `$and`, `$or` and `$nor`; every other
    /// operator that stands there could look anywhere.
    fn check_filter(&self, filter: &Document) -> Result<(), ApiError> {
        filter.iter().try_for_each(|(key, value)| match (key.as_str(), value) {
            ("$and" | "$or" | "$nor", Bson::Array(filters)) => filters
                .iter()
                .filter_map(Bson::as_document)
                .try_for_each(|it| self.check_filter(it)),
            ("$comment", _) => Ok(()),
            (operator, _) if operator.starts_with('$') => Err(ApiError::Forbidden(format!(
                "{operator} is not allowed: fields of this collection are hidden from you"
            ))),
            (path, _) => self.check_path(path),
        })
    }

    fn check_path(&self, path: &str) -> Result<(), ApiError> {
        let is_hidden = |cut: &Cut| !POSITIONS.contains(&path) && cut.hides(path);
        if self.secrets.hides(path) || self.cut.as_ref().is_some_and(is_hidden) {
            return Err(ApiError::Forbidden(format!(
                "conditions on {path} are not allowed: the field is hidden from you"
            )));
        }
        Ok(())
    }
}

/// Anything but a flag computes, and could show a hidden field under another name.
fn check_flag(value: &Bson) -> Result<(), ApiError> {
    match value {
        Bson::Int32(_) | Bson::Int64(_) | Bson::Double(_) | Bson::Boolean(_) => Ok(()),
        _ => Err(ApiError::Forbidden(
            "only 1 and 0 are allowed in keys, 1 and -1 in sort: fields of this collection are \
             hidden from you"
                .to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;
    use crate::http::{documents::PageLimits, request::Query};

    fn scope() -> Scope {
        Scope {
            project_response: Some(doc! { "ssn": 0, "p.secret": 0 }),
            secrets: Secrets::new(&["password"], &["passwordReset"]),
            ..Scope::default()
        }
    }

    fn check(scope: &Scope, query: &str, allowed: bool) {
        let query = percent_encoding::utf8_percent_encode(query, percent_encoding::CONTROLS);
        let query = query.to_string().replace('"', "%22").replace('{', "%7B").replace('}', "%7D");
        let uri = format!("/a?{query}").parse().unwrap();
        let limits = PageLimits { default: 10, most: 10 };
        let read = ReadQuery::parse(&Query::parse(&uri).unwrap(), limits).unwrap();
        let checked = Sight::of(scope).unwrap().check(&read);
        assert_eq!(checked.is_ok(), allowed, "{query}: {checked:?}");
        if let Err(error) = checked {
            assert_eq!(error.status().as_u16(), 403);
        }
    }

    #[test]
    fn what_is_hidden_cannot_be_asked_for() {
        for (query, allowed) in [
            (r#"filter={"a":1}&sort=a&keys={"a":1}"#, true),
            (r#"filter={"p.b":1}"#, true),
            (r#"filter={"a":{"ssn":1}}"#, true),
            (r#"filter={"_etag":{"$gt":1}}&sort={"_etag":1}"#, true),
            (r#"filter={"ssn":1}"#, false),
            (r#"filter={"ssn.x":1}"#, false),
            (r#"filter={"p":1}"#, false),
            (r#"filter={"password":{"$regex":"^a"}}"#, false),
            (r#"filter={"passwordResetCode":1}"#, false),
            (r#"filter={"$or":[{"a":1},{"$and":[{"password":1}]}]}"#, false),
            (r#"filter={"$expr":{"$eq":["$a",1]}}"#, false),
            (r#"filter={"$jsonSchema":{}}"#, false),
            ("sort=ssn", false),
            (r#"sort={"password":-1}"#, false),
            (r#"keys={"x":"$password"}"#, false),
            (r#"keys={"x":{"$literal":1}}"#, false),
        ] {
            check(&scope(), query, allowed);
            check(&Scope::default(), query, true);
        }
        let listed = Scope { project_response: Some(doc! { "a": 1 }), ..Scope::default() };
        for (query, allowed) in [
            (r#"filter={"a":1}&sort=_id"#, true),
            (r#"filter={"_etag":{"$gt":1}}&sort={"_etag":1}"#, true),
            (r#"filter={"b":1}"#, false),
        ] {
            check(&listed, query, allowed);
        }
    }
}
