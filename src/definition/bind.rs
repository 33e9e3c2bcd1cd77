//! Filling variables into the stages.

use bson::{Bson, Document, doc};
use thiserror::Error;

use super::allowed::{Mode, check_stage};
use super::error::DefinitionError;
use super::guard::check_data;
use super::path::At;
use super::place::Place;
use super::stage::StageTemplate;
use super::var::{VarRef, is_paging};
use super::variables::{Found, Variables};
use super::violation::{Fault, Finding, SecurityViolation};

/// A stage with every variable filled in, checked again.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedStage {
    /// Ready to be sent to MongoDB, or to be run in process.
    pub stage: Document,
    /// Would other variables have made another stage?
    pub bound_by: Bound,
    /// Whether the client's variables, or the paging of its request, are among them.
    pub asks: bool,
}

/// Whose values a stage depends on. A stage that depends on both counts as the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// Constant: the same for every request.
    Nothing,
    /// The client's variables, or the paging of its request.
    Client,
    /// Server variables, such as `@user`: the stage differs from caller to caller.
    Caller,
}

impl Bound {
    pub(crate) fn by(name: &str) -> Self {
        match name {
            paging if is_paging(paging) => Self::Client,
            server if server.starts_with('@') => Self::Caller,
            _ => Self::Client,
        }
    }
}

/// Why a stream cannot be opened with these variables.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum BindError {
    /// A variable without value and without default: `400`.
    #[error("variable {0} not bound")]
    NotBound(String),
    /// A value that makes no valid stage where it is used: `400`.
    #[error("invalid stage at {location}: {reason}")]
    Invalid {
        /// `pipeline[i]`, or a path below it.
        location: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A value that is not data: `400`.
    #[error("variable {name} refused: {reason}")]
    NotData {
        /// The variable.
        name: String,
        /// What it holds.
        reason: String,
    },
    /// A forbidden stage or operator: `403`.
    #[error(transparent)]
    Forbidden(#[from] SecurityViolation),
}

/// Resolves the declared stages: optional ones are chosen, variables filled in, the result checked.
/// A stage that is left out leaves no trace; shared cursors are compared by the stages that are there.
pub(crate) fn bind_stages(
    templates: &[StageTemplate],
    variables: &Variables,
) -> Result<Vec<ResolvedStage>, BindError> {
    let mut stages = Vec::with_capacity(templates.len());
    for template in templates {
        let Some(chosen) = template.choose(variables) else { continue };
        let resolved = Filling::of(template, variables).stage(chosen, stages.len())?;
        check_stage(&resolved.stage, Mode::Resolved)
            .at(stages.len())
            .map_err(BindError::from_finding)?;
        stages.push(resolved);
    }
    Ok(stages)
}

/// Fills one stage, noting whose values it took.
struct Filling<'a> {
    variables: &'a Variables,
    bound_by: Bound,
    asks: bool,
}

impl<'a> Filling<'a> {
    /// The choice between the branches of an optional stage depends on its condition already.
    fn of(template: &StageTemplate, variables: &'a Variables) -> Self {
        let mut filling = Self { variables, bound_by: Bound::Nothing, asks: false };
        template.condition().iter().for_each(|name| filling.depend_on(name));
        filling
    }

    fn depend_on(&mut self, name: &str) {
        let bound = Bound::by(name);
        self.bound_by = self.bound_by.max(bound);
        self.asks |= bound == Bound::Client;
    }

    fn stage(mut self, chosen: &Document, index: usize) -> Result<ResolvedStage, BindError> {
        match self.fill_document(chosen, Place::Pipeline)? {
            Bson::Document(stage) => {
                Ok(ResolvedStage { stage, bound_by: self.bound_by, asks: self.asks })
            }
            _ => Err(BindError::Invalid {
                location: format!("pipeline[{index}]"),
                reason: "the variable that stands for the stage must hold a document".to_owned(),
            }),
        }
    }

    fn fill(&mut self, value: &Bson, place: Place) -> Result<Bson, BindError> {
        match value {
            Bson::Document(document) => self.fill_document(document, place),
            Bson::Array(items) => items
                .iter()
                .map(|item| self.fill(item, place))
                .collect::<Result<_, _>>()
                .map(Bson::Array),
            other => Ok(other.clone()),
        }
    }

    fn fill_document(&mut self, document: &Document, place: Place) -> Result<Bson, BindError> {
        if let Some(var) = VarRef::detect(document) {
            let var = var.map_err(BindError::from_definition)?;
            return self.value_of(&var, place);
        }
        let fill =
            |(key, value): (&String, &Bson)| Ok((key.clone(), self.fill(value, place.under(key))?));
        document.iter().map(fill).collect::<Result<Document, _>>().map(Bson::Document)
    }

    fn value_of(&mut self, var: &VarRef, place: Place) -> Result<Bson, BindError> {
        self.depend_on(&var.name);
        match data_of(&var.name, self.variables)? {
            Some(found) => Ok(quoted(found.value(), place)),
            // A default is the definition's own text: it may be an expression.
            None => var.default.clone().ok_or_else(|| BindError::NotBound(var.name.clone())),
        }
    }
}

/// The value of a variable, which must be data: a caller can often choose what its own account
/// says. The permission's own filters are the exception, they are queries by nature.
pub(crate) fn data_of<'a>(
    name: &str,
    variables: &'a Variables,
) -> Result<Option<Found<'a>>, BindError> {
    let found = variables.find(name);
    if let Some(Found::Server(value)) = found
        && !name.starts_with("@mongoPermissions")
    {
        let refuse = |reason| BindError::NotData { name: name.to_owned(), reason };
        check_data(value).map_err(refuse)?;
    }
    Ok(found)
}

/// A bound value in its place: in an expression MongoDB must not read `"$fullDocument.secret"` as a
/// path.
fn quoted(value: &Bson, place: Place) -> Bson {
    match (place, value) {
        (Place::Fields, Bson::Document(fields)) => each_literal(fields),
        (Place::Fields | Place::Expression, value) => literal(value),
        _ => value.clone(),
    }
}

fn literal(value: &Bson) -> Bson {
    match value {
        Bson::Array(items) => Bson::Array(items.iter().map(literal).collect()),
        Bson::Document(fields) if is_object_expression(fields) => each_literal(fields),
        Bson::String(_) | Bson::Document(_) => doc! {"$literal": value}.into(),
        other => other.clone(),
    }
}

fn each_literal(fields: &Document) -> Bson {
    let fields = fields.iter().map(|(field, value)| (field.clone(), literal(value)));
    Bson::Document(fields.collect())
}

/// MongoDB takes an empty object, or a field name with a dot, only as a literal; one with a dollar, as in
/// the filter of a permission, would be an operator.
fn is_object_expression(fields: &Document) -> bool {
    let is_plain =
        |field: &String| !field.is_empty() && !field.contains('.') && !field.starts_with('$');
    !fields.is_empty() && fields.keys().all(is_plain)
}

impl BindError {
    fn from_finding(finding: Finding) -> Self {
        let location = finding.location();
        match finding.fault {
            Fault::Malformed(reason) => Self::Invalid { location, reason },
            Fault::Forbidden(forbidden) => SecurityViolation::new(location, forbidden).into(),
        }
    }

    fn from_definition(error: DefinitionError) -> Self {
        Self::Invalid { location: error.path.to_string(), reason: error.reason }
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests;
