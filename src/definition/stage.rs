//! One element of `stages`: a stage, or an optional one.

use bson::{Bson, Document};

use super::error::DefinitionError;
use super::path::At;
use super::var::{self, check_name};
use super::variables::Variables;

/// A stage as declared, unescaped; `$var` may stand anywhere in it, even for the whole stage.
#[derive(Clone, Debug, PartialEq)]
pub enum StageTemplate {
    /// Always part of the pipeline.
    Always(Document),
    /// `{"$ifvar": [names, then, otherwise]}`: present when every name is bound.
    Optional {
        /// The variables that must be bound; none means that `then` always applies.
        names: Vec<String>,
        /// The stage when they are.
        then: Document,
        /// The stage when they are not; absent, the pipeline goes without.
        otherwise: Option<Document>,
    },
}

impl StageTemplate {
    /// Reads an unescaped element.
    pub(crate) fn parse(element: &Bson) -> Result<Self, DefinitionError> {
        let stage = as_stage(element)?;
        match stage.get("$ifvar") {
            None => Ok(Self::Always(stage)),
            Some(_) if stage.len() > 1 => Err(optional_shape()),
            Some(parts) => Self::parse_optional(parts).at("$ifvar"),
        }
    }

    fn parse_optional(parts: &Bson) -> Result<Self, DefinitionError> {
        let parts = parts.as_array().ok_or_else(optional_shape)?;
        let (condition, then, otherwise) = match parts.as_slice() {
            [condition, then] => (condition, then, None),
            [condition, then, otherwise] => (condition, then, Some(otherwise)),
            _ => return Err(optional_shape()),
        };
        Ok(Self::Optional {
            names: condition_names(condition).at(0)?,
            then: as_branch(then).at(1)?,
            otherwise: otherwise.map(as_branch).transpose().at(2)?,
        })
    }

    /// The stage for these variables; `None` when it is left out.
    pub(crate) fn choose(&self, variables: &Variables) -> Option<&Document> {
        match self {
            Self::Always(stage) => Some(stage),
            Self::Optional { names, then, otherwise } => {
                let bound = names.iter().all(|name| variables.is_bound(name));
                if bound { Some(then) } else { otherwise.as_ref() }
            }
        }
    }

    /// The variables that decide whether the stage is there.
    pub(crate) fn condition(&self) -> &[String] {
        match self {
            Self::Always(_) => &[],
            Self::Optional { names, .. } => names,
        }
    }

    /// Runs a check on every stage this can become, with the place of each.
    pub(crate) fn try_each<E: super::path::Located>(
        &self,
        mut check: impl FnMut(&Document) -> Result<(), E>,
    ) -> Result<(), E> {
        match self {
            Self::Always(stage) => check(stage),
            Self::Optional { then, otherwise, .. } => {
                check(then).at(1).at("$ifvar")?;
                otherwise.as_ref().map_or(Ok(()), |stage| check(stage).at(2).at("$ifvar"))
            }
        }
    }

    /// Every stage this can become.
    pub(crate) fn branches(&self) -> impl Iterator<Item = &Document> {
        let (first, second) = match self {
            Self::Always(stage) => (stage, None),
            Self::Optional { then, otherwise, .. } => (then, otherwise.as_ref()),
        };
        std::iter::once(first).chain(second)
    }

    /// The `$var`s in every branch.
    pub(crate) fn variables(&self) -> Result<Vec<var::VarRef>, DefinitionError> {
        let mut found = Vec::new();
        self.try_each(|stage| var::collect(&Bson::Document(stage.clone()), &mut found))?;
        Ok(found)
    }
}

fn as_stage(element: &Bson) -> Result<Document, DefinitionError> {
    let stage = element.as_document().cloned();
    stage
        .ok_or_else(|| DefinitionError::new("a stage must be a document such as {\"$match\": {…}}"))
}

fn as_branch(branch: &Bson) -> Result<Document, DefinitionError> {
    let stage = as_stage(branch)?;
    if stage.contains_key("$ifvar") {
        return Err(DefinitionError::new(
            "an optional stage cannot hold another; name all variables in one condition",
        ));
    }
    Ok(stage)
}

fn condition_names(condition: &Bson) -> Result<Vec<String>, DefinitionError> {
    let names = match condition {
        Bson::String(name) => vec![name.clone()],
        Bson::Array(names) => {
            let names = names.iter().map(|name| name.as_str().map(str::to_owned));
            names.collect::<Option<_>>().ok_or_else(optional_shape)?
        }
        _ => return Err(optional_shape()),
    };
    names.iter().try_for_each(|name| check_name(name))?;
    Ok(names)
}

fn optional_shape() -> DefinitionError {
    DefinitionError::new(
        "invalid optional stage: write {\"$ifvar\": [name or [names], stage]}, with a third \
         element for the stage when they are not bound",
    )
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests {
    use bson::{bson, doc};

    use super::*;
    use crate::definition::parameters::Parameters;

    fn chosen(element: Bson, avars: Option<Bson>) -> Option<Document> {
        let variables = Variables::client(&Parameters::default(), avars.as_ref()).unwrap();
        let variables = variables.predefine_user(Bson::Null);
        StageTemplate::parse(&element).unwrap().choose(&variables).cloned()
    }

    #[test]
    fn conditions_choose_the_branch() {
        let then = doc! {"$match": {"a": 1}};
        let other = doc! {"$match": {"a": 2}};
        let on = |names: Bson| bson!({"$ifvar": [names, (then.clone())]});
        let both = |names: Bson| bson!({"$ifvar": [names, (then.clone()), (other.clone())]});
        for (element, avars, expected) in [
            (bson!({"$match": {"a": 1}}), None, Some(&then)),
            (on("fruit".into()), None, None),
            (on("fruit".into()), Some(bson!({})), None),
            (on("fruit".into()), Some(bson!({"other": 1})), None),
            (on("fruit".into()), Some(bson!({"fruit": 1})), Some(&then)),
            (on("fruit".into()), Some(bson!({"fruit": null})), Some(&then)),
            (on("a.b".into()), Some(bson!({"a": {"b": 1}})), Some(&then)),
            (on(bson!(["x", "y"])), Some(bson!({"x": 1})), None),
            (on(bson!(["x", "y"])), Some(bson!({"x": 1, "y": 1})), Some(&then)),
            (on(bson!([])), None, Some(&then)),
            (both("x".into()), None, Some(&other)),
            (both("x".into()), Some(bson!({"x": 0})), Some(&then)),
            (on("@user".into()), None, Some(&then)),
            (on("@user._id".into()), None, None),
        ] {
            assert_eq!(chosen(element.clone(), avars).as_ref(), expected, "{element}");
        }
    }

    #[test]
    fn every_other_shape_is_refused() {
        let stage = bson!({"$match": {}});
        for (element, place) in [
            (bson!(1), ""),
            (bson!("$match"), ""),
            (bson!([]), ""),
            (bson!({"$ifvar": ["x", {}], "y": 1}), ""),
            (bson!({"$ifvar": "x"}), "$ifvar"),
            (bson!({"$ifvar": {"x": 1}}), "$ifvar"),
            (bson!({"$ifvar": []}), "$ifvar"),
            (bson!({"$ifvar": ["x"]}), "$ifvar"),
            (bson!({"$ifvar": ["x", (stage.clone()), (stage.clone()), 1]}), "$ifvar"),
            (bson!({"$ifvar": [1, (stage.clone())]}), "$ifvar[0]"),
            (bson!({"$ifvar": [["x", 1], (stage.clone())]}), "$ifvar[0]"),
            (bson!({"$ifvar": ["", (stage.clone())]}), "$ifvar[0]"),
            (bson!({"$ifvar": [[".@user"], (stage.clone())]}), "$ifvar[0]"),
            (bson!({"$ifvar": ["x", null]}), "$ifvar[1]"),
            (bson!({"$ifvar": ["x", [(stage.clone())]]}), "$ifvar[1]"),
            (bson!({"$ifvar": ["x", (stage.clone()), "y"]}), "$ifvar[2]"),
            (bson!({"$ifvar": ["x", {"$ifvar": ["y", stage]}]}), "$ifvar[1]"),
        ] {
            let error = StageTemplate::parse(&element).unwrap_err();
            assert_eq!(error.path.to_string(), place, "{element}");
        }
    }
}
