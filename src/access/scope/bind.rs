use bson::{Bson, Document, doc};

use super::operators::negates;
use super::{Clause, Condition, Filter, ListTemplate, Operand, Template};
use crate::{
    access::variable::{Scope, Variable},
    binding,
};

/// Why a filter has no form for this caller, who is denied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BindError {
    #[error("variable {0} has no value for this caller")]
    Unresolved(String),
    #[error("the value of {0} holds an operator or a pattern")]
    Operator(String),
    #[error("the value of {0} is not a list")]
    NotAList(String),
}

/// A part of a filter for one caller.
enum Bound<T> {
    Value(T),
    /// It cannot hold, because this variable has no value.
    Never(String),
}

type Result<T> = std::result::Result<Bound<T>, BindError>;

/// Stops at a part that cannot hold, handing on which variable was to blame.
macro_rules! value {
    ($bound:expr) => {
        match $bound? {
            Bound::Value(value) => value,
            Bound::Never(variable) => return Ok(Bound::Never(variable)),
        }
    };
}

/// Nobody is shown anything by a filter that asks for a value which its caller has not.
pub(super) fn bind(filter: &Filter, scope: &Scope<'_>) -> std::result::Result<Document, BindError> {
    match (Binder { scope, negated: false }).filter(filter)? {
        Bound::Value(document) => Ok(document),
        Bound::Never(variable) => {
            tracing::debug!(variable, "a filter shows nothing: its caller has no such value");
            Ok(binding::Scope::nothing())
        }
    }
}

#[derive(Clone, Copy)]
struct Binder<'a> {
    scope: &'a Scope<'a>,
    /// Inside a negation, where "cannot hold" would turn into "holds always".
    negated: bool,
}

impl Binder<'_> {
    fn filter(self, filter: &Filter) -> Result<Document> {
        let mut document = Document::new();
        for clause in &filter.0 {
            let (key, value) = value!(self.clause(clause));
            document.insert(key, value);
        }
        Ok(Bound::Value(document))
    }

    fn clause(self, clause: &Clause) -> Result<(String, Bson)> {
        let list = |filters: Vec<Document>| filters.into_iter().map(Bson::Document).collect();
        Ok(Bound::Value(match clause {
            Clause::Constant(key, value) => (key.clone(), value.clone()),
            Clause::And(filters) => ("$and".to_owned(), list(value!(self.every(filters)))),
            Clause::Or(filters) => ("$or".to_owned(), list(value!(self.some(filters)))),
            Clause::Nor(filters) => {
                ("$nor".to_owned(), list(value!(self.inside("$nor").every(filters))))
            }
            Clause::Expression(template) => {
                ("$expr".to_owned(), value!(self.inside("$not").expression(template)))
            }
            Clause::Field(key, condition) => (key.clone(), value!(self.condition(condition))),
        }))
    }

    /// The same, inside the operand of an operator.
    fn inside(self, operator: &str) -> Self {
        Self { negated: self.negated || negates(operator), ..self }
    }

    fn every(self, filters: &[Filter]) -> Result<Vec<Document>> {
        let mut bound = Vec::with_capacity(filters.len());
        for filter in filters {
            bound.push(value!(self.filter(filter)));
        }
        Ok(Bound::Value(bound))
    }

    /// Branches that cannot hold are left out; at least one has to stay.
    fn some(self, filters: &[Filter]) -> Result<Vec<Document>> {
        let (mut bound, mut blame) = (Vec::with_capacity(filters.len()), None);
        for filter in filters {
            match self.filter(filter)? {
                Bound::Value(document) => bound.push(document),
                Bound::Never(variable) => blame = Some(variable),
            }
        }
        match blame {
            Some(variable) if bound.is_empty() => Ok(Bound::Never(variable)),
            _ => Ok(Bound::Value(bound)),
        }
    }

    fn condition(self, condition: &Condition) -> Result<Bson> {
        match condition {
            Condition::Equals(template) => {
                let value = value!(self.template(template));
                Ok(Bound::Value(Bson::Document(doc! { "$eq": value })))
            }
            Condition::Operators(operators) => self.operators(operators),
        }
    }

    fn operators(self, operators: &[(String, Operand)]) -> Result<Bson> {
        let mut document = Document::new();
        for (operator, operand) in operators {
            let operand = value!(self.inside(operator).operand(operator, operand));
            document.insert(operator.clone(), operand);
        }
        Ok(Bound::Value(Bson::Document(document)))
    }

    fn operand(self, operator: &str, operand: &Operand) -> Result<Bson> {
        match operand {
            Operand::Constant(value) => Ok(Bound::Value(value.clone())),
            Operand::Value(template) => self.template(template),
            Operand::Operators(operators) => self.operators(operators),
            Operand::Filter(filter) => {
                Ok(Bound::Value(Bson::Document(value!(self.filter(filter)))))
            }
            Operand::List(ListTemplate::Variable(variable)) => {
                let items = match value!(self.variable(variable)) {
                    Bson::Array(items) => items,
                    _ => return Err(BindError::NotAList(variable.name())),
                };
                self.list(operator, items.into_iter().map(|i| not_null(i, variable)).collect())
            }
            Operand::List(ListTemplate::Items(templates)) => {
                let items = templates.iter().map(|template| self.template(template));
                self.list(operator, items.collect::<std::result::Result<_, _>>()?)
            }
        }
    }

    /// Of `$in` what cannot be met is left out. `$all` cannot be met with it.
    fn list(self, operator: &str, items: Vec<Bound<Bson>>) -> Result<Bson> {
        let mut values = Vec::with_capacity(items.len());
        for item in items {
            match item {
                Bound::Value(value) => values.push(value),
                Bound::Never(variable) if self.negated => {
                    return Err(BindError::Unresolved(variable));
                }
                Bound::Never(_) if operator == "$in" => {}
                never @ Bound::Never(_) => return Ok(never),
            }
        }
        Ok(Bound::Value(Bson::Array(values)))
    }

    fn template(self, template: &Template) -> Result<Bson> {
        match template {
            Template::Constant(value) => Ok(Bound::Value(value.clone())),
            Template::Variable(variable) => self.variable(variable),
            Template::Document(members) => {
                let mut document = Document::new();
                for (key, member) in members {
                    document.insert(key.clone(), value!(self.template(member)));
                }
                Ok(Bound::Value(Bson::Document(document)))
            }
            Template::Array(items) => {
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.push(value!(self.template(item)));
                }
                Ok(Bound::Value(Bson::Array(array)))
            }
        }
    }

    /// In an expression a text that starts with `$` is a field: values are wrapped as literals.
    fn expression(self, template: &Template) -> Result<Bson> {
        match template {
            Template::Variable(variable) => {
                let value = value!(self.variable(variable));
                Ok(Bound::Value(Bson::Document(doc! { "$literal": value })))
            }
            Template::Document(members) => {
                let mut document = Document::new();
                for (key, member) in members {
                    let member = match key.as_str() {
                        "$literal" => value!(self.template(member)),
                        _ => value!(self.expression(member)),
                    };
                    document.insert(key.clone(), member);
                }
                Ok(Bound::Value(Bson::Document(document)))
            }
            Template::Array(items) => {
                let mut array = Vec::with_capacity(items.len());
                for item in items {
                    array.push(value!(self.expression(item)));
                }
                Ok(Bound::Value(Bson::Array(array)))
            }
            Template::Constant(value) => Ok(Bound::Value(value.clone())),
        }
    }

    fn variable(self, variable: &Variable) -> Result<Bson> {
        match variable.resolve(self.scope) {
            None if self.negated => Err(BindError::Unresolved(variable.name())),
            None => Ok(Bound::Never(variable.name())),
            Some(value) if is_plain(&value, 0) => Ok(Bound::Value(value.into_owned())),
            Some(_) => Err(BindError::Operator(variable.name())),
        }
    }
}

/// In a list of values that are looked for, `null` would stand for every document without the field.
fn not_null(item: Bson, variable: &Variable) -> Bound<Bson> {
    match item {
        Bson::Null | Bson::Undefined => Bound::Never(variable.name()),
        value => Bound::Value(value),
    }
}

/// Values nest as deep as a token's claims may.
const MAX_VALUE_DEPTH: usize = 32;

/// Whether a value can only mean itself.
fn is_plain(value: &Bson, depth: usize) -> bool {
    if depth > MAX_VALUE_DEPTH {
        return false;
    }
    match value {
        Bson::Document(document) => {
            document.iter().all(|(key, value)| !key.starts_with('$') && is_plain(value, depth + 1))
        }
        Bson::Array(items) => items.iter().all(|item| is_plain(item, depth + 1)),
        Bson::RegularExpression(_)
        | Bson::JavaScriptCode(_)
        | Bson::JavaScriptCodeWithScope(_)
        | Bson::DbPointer(_)
        | Bson::MinKey
        | Bson::MaxKey => false,
        _ => true,
    }
}
