use super::attribute::Attribute;
use super::error::PredicateProblem as Problem;
use super::spec::Spec;
use crate::access::variable::Variable;

/// A value as written.
#[derive(Debug, Clone)]
pub(super) enum Item {
    Text(String),
    Variable(Variable),
}

/// What stands in the brackets of a call.
#[derive(Debug)]
pub(super) enum Given {
    Nothing,
    One(Item),
    List(Vec<Item>),
    Named(Vec<(String, Given)>),
}

/// Arguments by the names of the parameters; every required one is there.
#[derive(Debug)]
pub(super) struct Arguments {
    spec: &'static Spec,
    values: Vec<(&'static str, Vec<Item>)>,
}

impl Arguments {
    pub(super) fn new(spec: &'static Spec, given: Given) -> Result<Self, Problem> {
        let mut arguments = Self { spec, values: Vec::new() };
        match given {
            Given::Nothing => {}
            Given::Named(named) => {
                for (name, value) in named {
                    arguments.set(&name, value)?;
                }
            }
            value => arguments.set(spec.default.ok_or(Problem::NoDefault(spec.name))?, value)?,
        }
        arguments.check_required()?;
        Ok(arguments)
    }

    fn set(&mut self, name: &str, value: Given) -> Result<(), Problem> {
        let Some(parameter) = self.spec.parameters.iter().find(|p| p.name == name) else {
            let parameter = name.to_owned();
            return Err(Problem::UnknownParameter { predicate: self.spec.name, parameter });
        };
        let items = match value {
            Given::One(item) => vec![item],
            Given::List(items) if parameter.is_list => items,
            _ => {
                let (predicate, parameter) = (self.spec.name, parameter.name);
                return Err(Problem::NotAList { predicate, parameter });
            }
        };
        // Given twice, the last one counts.
        self.values.retain(|(set, _)| *set != parameter.name);
        self.values.push((parameter.name, items));
        Ok(())
    }

    fn check_required(&self) -> Result<(), Problem> {
        let missing =
            self.spec.parameters.iter().find(|p| p.is_required && self.items(p.name).is_none());
        match missing {
            None => Ok(()),
            Some(p) => {
                Err(Problem::MissingParameter { predicate: self.spec.name, parameter: p.name })
            }
        }
    }

    fn items(&self, name: &str) -> Option<&Vec<Item>> {
        self.values.iter().find(|(set, _)| *set == name).map(|(_, items)| items)
    }

    /// The values of a list; empty when not given.
    pub(super) fn list(&mut self, name: &'static str) -> Vec<Item> {
        let at = self.values.iter().position(|(set, _)| *set == name);
        at.map(|at| self.values.swap_remove(at).1).unwrap_or_default()
    }

    /// The values of a list that makes no sense empty.
    pub(super) fn filled(&mut self, name: &'static str) -> Result<Vec<Item>, Problem> {
        let items = self.list(name);
        if items.is_empty() { Err(Problem::EmptyList(self.spec.name)) } else { Ok(items) }
    }

    /// A text that decides how the predicate works, and so is never a variable.
    pub(super) fn text(&self, name: &'static str) -> Result<&str, Problem> {
        match self.items(name).and_then(|items| items.first()) {
            Some(Item::Text(text)) => Ok(text),
            Some(Item::Variable(_)) => Err(Problem::VariableNotAllowed(name)),
            None => Err(Problem::MissingParameter { predicate: self.spec.name, parameter: name }),
        }
    }

    pub(super) fn flag(&self, name: &'static str, default: bool) -> Result<bool, Problem> {
        match self.items(name) {
            None => Ok(default),
            Some(_) => self.text(name).map(|text| text.eq_ignore_ascii_case("true")),
        }
    }

    pub(super) fn integer(&self, name: &'static str) -> Result<i64, Problem> {
        let text = self.text(name)?;
        text.parse().map_err(|_| Problem::NotAnInteger(text.to_owned()))
    }

    pub(super) fn attribute(
        &mut self,
        name: &'static str,
        default: &str,
    ) -> Result<Attribute, Problem> {
        match self.list(name).pop() {
            Some(item) => Attribute::new(item),
            None => Attribute::new(Item::Text(default.to_owned())),
        }
    }

    pub(super) fn attributes(&mut self, name: &'static str) -> Result<Vec<Attribute>, Problem> {
        self.list(name).into_iter().map(Attribute::new).collect()
    }
}
