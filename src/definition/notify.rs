//! `notify_when`: which client hears of an event, decided in process on the shared cursor.

use bson::{Bson, Document};

use super::bind::{BindError, data_of};
use super::coerce::readings;
use super::error::DefinitionError;
use super::event_path::EventPath;
use super::path::At;
use super::var::VarRef;
use super::variables::{Found, Variables};

/// `notify_when` with every variable resolved: an event is delivered when all entries hold.
///
/// An entry holds when the values at `path`, found as MongoDB finds them (arrays and arrays of
/// documents included), hold one that equals one of `any_of` as MongoDB compares them: numbers by
/// value across number types, everything else by type and value.
///
/// What a variable contributes depends on how it was bound:
///
/// * through `avars`: exactly that typed value. `avars={"x": 42}` does not match the string `"42"`.
/// * as a plain parameter: the string, and also what it spells. `?x=42` matches `"42"` and 42,
///   `?x=true` the boolean, 24 hexadecimal digits the ObjectId, a UUID's text the UUID, a full
///   ISO 8601 instant the date.
/// * by the server (`@user.team`), as a default or as a constant: exactly that typed value.
///
/// Null is a value like any other: it is carried as [`Bson::Null`], and what null equals (an absent
/// field does) is for the matcher to say.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyWhen {
    /// At least one.
    pub entries: Vec<NotifyEntry>,
}

/// One condition of a [`NotifyWhen`].
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyEntry {
    /// Dotted path into the event, for example `fullDocument.tenantId`.
    pub path: String,
    /// Its first component.
    pub top: String,
    /// At least one value; any of them will do.
    pub any_of: Vec<Bson>,
}

/// `notify_when` as declared.
#[derive(Clone, Debug, PartialEq)]
pub struct NotifyTemplate {
    pub(crate) conditions: Vec<Condition>,
}

/// One entry as declared.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Condition {
    pub(crate) path: EventPath,
    pub(crate) value: Operand,
}

/// What a field is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Operand {
    Constant(Bson),
    Variable(VarRef),
}

impl NotifyTemplate {
    /// Reads the field; nothing in it is unescaped except the spelling `_$var`.
    pub(crate) fn parse(value: &Bson) -> Result<Self, DefinitionError> {
        let entries = value.as_document().filter(|entries| !entries.is_empty());
        let entries = entries.ok_or_else(|| {
            DefinitionError::new(
                "it must be a document with at least one entry such as \
                 {\"fullDocument::tenantId\": {\"$var\": \"tid\"}}",
            )
        })?;
        let conditions = entries.iter().map(|(key, value)| condition(key, value).at(key.as_str()));
        Ok(Self { conditions: conditions.collect::<Result<_, _>>()? })
    }

    /// # Errors
    /// [`BindError::NotBound`] for a variable without value and default.
    pub(crate) fn bind(&self, variables: &Variables) -> Result<NotifyWhen, BindError> {
        let entries = self.conditions.iter().map(|condition| condition.bind(variables));
        Ok(NotifyWhen { entries: entries.collect::<Result<_, _>>()? })
    }

    /// The variables, in order.
    pub(crate) fn variables(&self) -> impl Iterator<Item = &VarRef> {
        self.conditions.iter().filter_map(|condition| match &condition.value {
            Operand::Variable(var) => Some(var),
            Operand::Constant(_) => None,
        })
    }
}

impl Condition {
    fn bind(&self, variables: &Variables) -> Result<NotifyEntry, BindError> {
        let any_of = match &self.value {
            Operand::Constant(value) => vec![value.clone()],
            Operand::Variable(var) => values_of(var, variables)?,
        };
        Ok(NotifyEntry { path: self.path.to_string(), top: self.path.top().to_owned(), any_of })
    }
}

fn values_of(var: &VarRef, variables: &Variables) -> Result<Vec<Bson>, BindError> {
    match data_of(&var.name, variables)? {
        Some(Found::Plain(Bson::String(text))) => Ok(readings(text)),
        Some(found) => Ok(vec![found.value().clone()]),
        None => match &var.default {
            Some(default) => Ok(vec![default.clone()]),
            None => Err(BindError::NotBound(var.name.clone())),
        },
    }
}

fn condition(key: &str, value: &Bson) -> Result<Condition, DefinitionError> {
    Ok(Condition { path: EventPath::parse(key)?, value: operand(value)? })
}

fn operand(value: &Bson) -> Result<Operand, DefinitionError> {
    if let Some(name) = value.as_document().and_then(variable_of) {
        let var = VarRef::parse(name).at("$var")?;
        if let Some(default) = &var.default {
            check_constant(default).at(1).at("$var")?;
        }
        return Ok(Operand::Variable(var));
    }
    check_constant(value)?;
    Ok(Operand::Constant(value.clone()))
}

/// Keys beside `$var` are ignored, as RESTHeart does.
fn variable_of(document: &Document) -> Option<&Bson> {
    document.get("$var").or_else(|| document.get("_$var"))
}

fn check_constant(value: &Bson) -> Result<(), DefinitionError> {
    super::guard::check_data(value).map_err(|_| {
        DefinitionError::new(
            "`notify_when` compares for equality only; use a variable or a plain value, and put \
             operators in a $match stage",
        )
    })
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests {
    use bson::{bson, oid::ObjectId};

    use super::*;
    use crate::definition::parameters::Parameters;

    fn bind(template: Bson, query: &[(&str, &str)], avars: Bson) -> Result<NotifyWhen, BindError> {
        let parameters = Parameters::from_query(query.iter().copied()).unwrap();
        let variables = Variables::client(&parameters, Some(&avars)).unwrap();
        let variables =
            variables.predefine_user(bson!({"_id": "joe", "team": {"_id": 7}, "evil": {"$ne": 1}}));
        NotifyTemplate::parse(&template).unwrap().bind(&variables)
    }

    #[test]
    fn values_keep_the_type_they_were_bound_with() {
        let oid = ObjectId::new();
        let tid = |value: Bson| bson!({"fullDocument::tenantId": value});
        let var = || tid(bson!({"$var": "tid"}));
        for (template, query, avars, expected) in [
            (var(), vec![("tid", "acme")], bson!({}), vec![bson!("acme")]),
            (var(), vec![("tid", "42")], bson!({}), vec![bson!("42"), bson!(42_i64)]),
            (var(), vec![("tid", "")], bson!({}), vec![bson!("")]),
            (var(), vec![], bson!({"tid": "42"}), vec![bson!("42")]),
            (var(), vec![], bson!({"tid": 42}), vec![bson!(42)]),
            (var(), vec![("tid", "42")], bson!({"tid": "acme"}), vec![bson!("acme")]),
            (var(), vec![], bson!({"tid": null}), vec![Bson::Null]),
            (var(), vec![], bson!({"tid": oid}), vec![oid.into()]),
            (var(), vec![], bson!({"tid": [1, 2]}), vec![bson!([1, 2])]),
            (tid(bson!({"_$var": "tid"})), vec![("tid", "a")], bson!({}), vec![bson!("a")]),
            (
                tid(bson!({"$var": "tid", "note": 1})),
                vec![("tid", "a")],
                bson!({}),
                vec![bson!("a")],
            ),
            (tid(bson!({"$var": ["tid", "42"]})), vec![], bson!({}), vec![bson!("42")]),
            (tid(bson!({"$var": ["tid", 7]})), vec![("tid", "a")], bson!({}), vec![bson!("a")]),
            (tid(bson!({"$var": "o.t[0]"})), vec![], bson!({"o": {"t": ["x"]}}), vec![bson!("x")]),
            (tid(bson!({"$var": "@user.team._id"})), vec![], bson!({}), vec![bson!(7)]),
            (tid(bson!("acme")), vec![], bson!({}), vec![bson!("acme")]),
            (tid(bson!({"a": 1})), vec![], bson!({}), vec![bson!({"a": 1})]),
        ] {
            let entry = NotifyEntry {
                path: "fullDocument.tenantId".to_owned(),
                top: "fullDocument".to_owned(),
                any_of: expected,
            };
            let bound = bind(template.clone(), &query, avars).unwrap();
            assert_eq!(bound.entries, [entry], "{template}");
        }
    }

    #[test]
    fn several_entries_all_hold() {
        let template = bson!({"fullDocument::a": {"$var": "x"}, "operationType": "insert"});
        let bound = bind(template, &[("x", "1")], bson!({})).unwrap();
        let paths: Vec<&str> = bound.entries.iter().map(|entry| entry.path.as_str()).collect();
        assert_eq!(paths, ["fullDocument.a", "operationType"]);
    }

    #[test]
    fn unbound_is_never_everything() {
        for (name, query) in
            [("tid", vec![]), ("tid", vec![("TID", "x")]), ("@user.x", vec![]), ("@now", vec![])]
        {
            let template = bson!({"fullDocument::a": "x", "fullDocument::t": {"$var": name}});
            let error = bind(template, &query, bson!({})).unwrap_err();
            assert_eq!(error.to_string(), format!("variable {name} not bound"));
        }
        let evil = bind(bson!({"fullDocument::t": {"$var": "@user.evil"}}), &[], bson!({}));
        assert!(matches!(evil, Err(BindError::NotData { .. })));
    }

    #[test]
    fn other_shapes_are_refused() {
        for (template, place) in [
            (bson!(1), ""),
            (bson!([]), ""),
            (bson!({}), ""),
            (bson!({"fullDocument::": {"$var": "x"}}), "fullDocument::"),
            (bson!({"_id::_data": {"$var": "x"}}), "_id::_data"),
            (bson!({"a::b": {"$var": 1}}), "a::b.$var"),
            (bson!({"a::b": {"$var": ["x"]}}), "a::b.$var"),
            (bson!({"a::b": {"$var": ""}}), "a::b.$var"),
            (bson!({"a::b": {"$var": "['@user']"}}), "a::b.$var"),
            (bson!({"a::b": {"$var": ["x", {"$gt": 1}]}}), "a::b.$var[1]"),
            (bson!({"a::b": {"$in": [1]}}), "a::b"),
            (bson!({"a::b": {"c": {"$gt": 1}}}), "a::b"),
        ] {
            let error = NotifyTemplate::parse(&template).unwrap_err();
            assert_eq!(error.path.to_string(), place, "{template}");
        }
    }
}
