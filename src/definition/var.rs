//! `{"$var": …}`: the place of a variable in a definition.

use bson::{Bson, Document};

use super::error::DefinitionError;
use super::lookup::{Step, steps};
use super::path::At;

/// A variable as a definition names it.
#[derive(Clone, Debug, PartialEq)]
pub struct VarRef {
    /// The name, dots included; a name that starts with `@` is bound by the server only.
    pub name: String,
    /// What stands here when nothing is bound, exactly as declared.
    pub default: Option<Bson>,
}

impl VarRef {
    /// Recognises a document whose only key is `$var`; `None` for every other document.
    ///
    /// The value is a name, or `[name, default]`; anything else is an error.
    pub(crate) fn detect(document: &Document) -> Option<Result<Self, DefinitionError>> {
        match document.iter().next() {
            Some((key, value)) if document.len() == 1 && key == "$var" => {
                Some(Self::parse(value).at("$var"))
            }
            _ => None,
        }
    }

    pub(crate) fn parse(value: &Bson) -> Result<Self, DefinitionError> {
        let (name, default) = match value {
            Bson::String(name) => (name, None),
            Bson::Array(pair) => match pair.as_slice() {
                [Bson::String(name), default] => (name, Some(default.clone())),
                _ => return Err(shape()),
            },
            _ => return Err(shape()),
        };
        check_name(name)?;
        if default.as_ref().is_some_and(holds_variable) {
            return Err(DefinitionError::new(
                "a default is inserted as it stands, so it must not hold another `$var`",
            ));
        }
        Ok(Self { name: name.clone(), default })
    }
}

/// Is this the name of a variable that only the server binds?
pub(crate) fn is_server(name: &str) -> bool {
    name.starts_with('@')
}

/// Is this the caller, or a path into it?
pub(crate) fn is_user(name: &str) -> bool {
    let rest = name.strip_prefix("@user");
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Is this the whole name of a variable that the server binds? Its value always wins, so that what a
/// client sends under it can be ignored.
pub(crate) fn is_predefined(name: &str) -> bool {
    ["@user", "@mongoPermissions"].contains(&name) || is_paging(name)
}

/// The request's paging, which the server passes on but the client chooses.
pub(crate) fn is_paging(name: &str) -> bool {
    ["@page", "@pagesize", "@limit", "@skip"].contains(&name)
}

fn shape() -> DefinitionError {
    DefinitionError::new(
        "wrong variable name: write {\"$var\": \"name\"} or {\"$var\": [\"name\", default]}",
    )
}

/// A name that resolves to nothing, or that reaches `@user` by a detour the client could take too,
/// is a mistake in the definition.
pub(crate) fn check_name(name: &str) -> Result<(), DefinitionError> {
    let Some(steps) = steps(name).filter(|steps| !steps.is_empty() && !name.trim().is_empty())
    else {
        return Err(DefinitionError::new(format!(
            "wrong variable name `{name}`: write a name, or a path such as options.sort[0]"
        )));
    };
    let detour = matches!(&steps[0], Step::Name(first) if first.trim_start().starts_with('@'));
    if detour && !is_server(name) {
        return Err(DefinitionError::new(format!(
            "`{name}` would be looked up among the client's variables; start the name with `@`"
        )));
    }
    Ok(())
}

fn holds_variable(value: &Bson) -> bool {
    match value {
        Bson::Document(document) => {
            document.contains_key("$var") || document.values().any(holds_variable)
        }
        Bson::Array(array) => array.iter().any(holds_variable),
        _ => false,
    }
}

/// Every `$var` below a value, outermost first, parsed.
pub(crate) fn collect(value: &Bson, found: &mut Vec<VarRef>) -> Result<(), DefinitionError> {
    match value {
        Bson::Document(document) => match VarRef::detect(document) {
            Some(var) => found.push(var?),
            None => document
                .iter()
                .try_for_each(|(key, value)| collect(value, found).at(key.as_str()))?,
        },
        Bson::Array(array) => {
            array
                .iter()
                .enumerate()
                .try_for_each(|(index, value)| collect(value, found).at(index))?;
        }
        _ => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use bson::{bson, doc};

    use super::*;

    #[test]
    fn both_forms_are_recognised() {
        for (document, name, default) in [
            (doc! {"$var": "tid"}, "tid", None),
            (doc! {"$var": "options.sort[0]"}, "options.sort[0]", None),
            (doc! {"$var": ["tid", "acme"]}, "tid", Some(bson!("acme"))),
            (doc! {"$var": ["tid", null]}, "tid", Some(Bson::Null)),
            (doc! {"$var": ["st", {"$match": {}}]}, "st", Some(bson!({"$match": {}}))),
            (doc! {"$var": "@user._id"}, "@user._id", None),
        ] {
            let var = VarRef::detect(&document).unwrap().unwrap();
            assert_eq!((var.name.as_str(), var.default), (name, default), "{document}");
        }
        for other in [doc! {}, doc! {"var": "x"}, doc! {"$var": "x", "y": 1}] {
            assert!(VarRef::detect(&other).is_none(), "{other}");
        }
    }

    #[test]
    fn every_other_shape_is_refused() {
        for value in [
            bson!(1),
            bson!(null),
            bson!({"name": "x"}),
            bson!([]),
            bson!(["x"]),
            bson!(["x", 1, 2]),
            bson!([1, 2]),
            bson!(""),
            bson!("  "),
            bson!("."),
            bson!("a[0"),
            bson!("['@user'].sub"),
            bson!(".@user.sub"),
            bson!(" @user"),
            bson!("[' @user']"),
            bson!(["x", {"$var": "y"}]),
            bson!(["x", [{"deep": {"$var": "y"}}]]),
        ] {
            let error = VarRef::detect(&doc! {"$var": value.clone()}).unwrap().unwrap_err();
            assert_eq!(error.path.to_string(), "$var", "{value}");
        }
    }
}
