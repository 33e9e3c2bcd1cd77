use bson::{Bson, Document};

use super::operators::{Takes, is_logical, is_operator, takes};
use super::{Clause, Condition, Filter, ListTemplate, Operand, Template};
use crate::access::variable::{Text, Variable};

/// Why a `readFilter` cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("`{0}` needs a list of filters")]
    NotFilters(String),
    #[error("`{0}` is no variable that can be used in a filter")]
    Variable(String),
    #[error("a variable cannot stand in `{0}`, where its value could mean more than itself")]
    Misplaced(String),
    #[error("the filter nests deeper than {MAX_DEPTH} levels")]
    TooDeep,
}

/// Reading and binding are recursive.
const MAX_DEPTH: usize = 64;

pub(super) fn filter(document: &Document) -> Result<Filter, FilterError> {
    check_depth(document)?;
    clauses(document)
}

/// Whether a variable is anywhere in it.
pub(super) fn has_variables(document: &Document) -> Result<bool, FilterError> {
    for (_, value) in document {
        if varies(value)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn varies(value: &Bson) -> Result<bool, FilterError> {
    match value {
        Bson::String(text) => variable(text).map(|variable| variable.is_some()),
        Bson::Document(document) => has_variables(document),
        // No early end: a text that looks like a variable and is none must be found anywhere.
        Bson::Array(items) => items.iter().try_fold(false, |any, item| Ok(any | varies(item)?)),
        _ => Ok(false),
    }
}

fn variable(text: &str) -> Result<Option<Variable>, FilterError> {
    match Variable::in_filter(text) {
        Text::Literal => Ok(None),
        Text::Variable(variable) => Ok(Some(variable)),
        Text::Malformed => Err(FilterError::Variable(text.to_owned())),
    }
}

fn clauses(document: &Document) -> Result<Filter, FilterError> {
    document.iter().map(|(key, value)| clause(key, value)).collect::<Result<_, _>>().map(Filter)
}

fn clause(key: &str, value: &Bson) -> Result<Clause, FilterError> {
    let varies = varies(value)?;
    if is_logical(key) {
        let filters = filters(key, value)?;
        return Ok(match key {
            _ if !varies => Clause::Constant(key.to_owned(), value.clone()),
            "$and" => Clause::And(filters),
            "$or" => Clause::Or(filters),
            _ => Clause::Nor(filters),
        });
    }
    match key {
        _ if !varies => Ok(Clause::Constant(key.to_owned(), value.clone())),
        "$expr" => template(value, true).map(Clause::Expression),
        _ if is_operator(key) => Err(FilterError::Misplaced(key.to_owned())),
        _ => condition(value).map(|condition| Clause::Field(key.to_owned(), condition)),
    }
}

fn filters(key: &str, value: &Bson) -> Result<Vec<Filter>, FilterError> {
    let not_filters = || FilterError::NotFilters(key.to_owned());
    let items = value.as_array().ok_or_else(not_filters)?;
    items.iter().map(|item| clauses(item.as_document().ok_or_else(not_filters)?)).collect()
}

fn condition(value: &Bson) -> Result<Condition, FilterError> {
    match value {
        Bson::Document(document) if has_operators(document) => {
            operators(document).map(Condition::Operators)
        }
        value => template(value, false).map(Condition::Equals),
    }
}

/// As MongoDB does, the first key decides.
fn has_operators(document: &Document) -> bool {
    document.keys().next().is_some_and(|key| is_operator(key))
}

fn operators(document: &Document) -> Result<Vec<(String, Operand)>, FilterError> {
    document.iter().map(|(key, value)| Ok((key.clone(), operand(key, value)?))).collect()
}

fn operand(operator: &str, value: &Bson) -> Result<Operand, FilterError> {
    if !varies(value)? {
        return Ok(Operand::Constant(value.clone()));
    }
    let misplaced = || FilterError::Misplaced(operator.to_owned());
    match (takes(operator).ok_or_else(misplaced)?, value) {
        (Takes::Value, value) => template(value, false).map(Operand::Value),
        (Takes::List, Bson::String(text)) => {
            let variable = variable(text)?.ok_or_else(misplaced)?;
            Ok(Operand::List(ListTemplate::Variable(variable)))
        }
        (Takes::List, Bson::Array(items)) => {
            let items = items.iter().map(|item| template(item, false)).collect::<Result<_, _>>()?;
            Ok(Operand::List(ListTemplate::Items(items)))
        }
        (Takes::Operators, Bson::Document(inner)) if has_operators(inner) => {
            operators(inner).map(Operand::Operators)
        }
        (Takes::Elements, Bson::Document(inner)) => match inner.keys().next() {
            Some(key) if is_operator(key) && !is_logical(key) => {
                operators(inner).map(Operand::Operators)
            }
            _ => clauses(inner).map(Operand::Filter),
        },
        _ => Err(misplaced()),
    }
}

/// Operators belong into expressions and not into values.
fn template(value: &Bson, is_expression: bool) -> Result<Template, FilterError> {
    if !varies(value)? {
        return Ok(Template::Constant(value.clone()));
    }
    match value {
        Bson::Document(document) => {
            let member = |(key, value): (&String, &Bson)| match is_operator(key) && !is_expression {
                true => Err(FilterError::Misplaced(key.clone())),
                false => Ok((key.clone(), template(value, is_expression)?)),
            };
            document.iter().map(member).collect::<Result<_, _>>().map(Template::Document)
        }
        Bson::Array(items) => {
            let items = items.iter().map(|item| template(item, is_expression));
            items.collect::<Result<_, _>>().map(Template::Array)
        }
        Bson::String(text) => Ok(match variable(text)? {
            Some(variable) => Template::Variable(variable),
            None => Template::Constant(value.clone()),
        }),
        other => Ok(Template::Constant(other.clone())),
    }
}

/// Without recursion, so that any document can be checked.
fn check_depth(document: &Document) -> Result<(), FilterError> {
    let mut left: Vec<(&Bson, usize)> = document.values().map(|value| (value, 1)).collect();
    while let Some((value, depth)) = left.pop() {
        if depth > MAX_DEPTH {
            return Err(FilterError::TooDeep);
        }
        match value {
            Bson::Document(inner) => left.extend(inner.values().map(|value| (value, depth + 1))),
            Bson::Array(items) => left.extend(items.iter().map(|item| (item, depth + 1))),
            _ => {}
        }
    }
    Ok(())
}
