//! The variables of a stream, for listings and documentation.

use bson::Bson;

use super::stream::StreamDef;
use super::var::{VarRef, is_server, is_user};

/// A variable that a stream uses.
#[derive(Clone, Debug, PartialEq)]
pub struct VariableUse {
    /// The name as declared, for example `tid` or `@user._id`.
    pub name: String,
    /// Can the stream not be opened without it? What stands only in an optional stage is optional.
    pub required: bool,
    /// What stands in its place when it is not bound; the first one declared.
    pub default: Option<Bson>,
    /// Bound by the server, never by the client.
    pub server: bool,
    /// Used in `stages`, or as the condition of one: each distinct value may cost a cursor.
    pub in_stages: bool,
    /// Used in `notify_when`.
    pub in_notify_when: bool,
}

impl StreamDef {
    /// The variables a client or the server can bind, each once, in order of appearance.
    pub fn variables(&self) -> Vec<VariableUse> {
        uses(self)
    }

    /// The names of what it asks for of its caller: `@user`, or paths into it.
    pub(crate) fn user_variables(&self) -> Vec<String> {
        let names = uses(self).into_iter().map(|it| it.name);
        names.filter(|name| is_user(name)).collect()
    }
}

fn uses(def: &StreamDef) -> Vec<VariableUse> {
    let mut uses = Vec::new();
    for stage in &def.stages {
        let optional = !stage.condition().is_empty();
        for name in stage.condition() {
            note(&mut uses, name, None, false).in_stages = true;
        }
        for var in stage.variables().unwrap_or_default() {
            note_var(&mut uses, &var, !optional).in_stages = true;
        }
    }
    for var in def.notify_when.iter().flat_map(|template| template.variables()) {
        note_var(&mut uses, var, true).in_notify_when = true;
    }
    uses
}

fn note_var<'a>(uses: &'a mut Vec<VariableUse>, var: &VarRef, needed: bool) -> &'a mut VariableUse {
    let required = needed && var.default.is_none();
    note(uses, &var.name, var.default.clone(), required)
}

fn note<'a>(
    uses: &'a mut Vec<VariableUse>,
    name: &str,
    default: Option<Bson>,
    required: bool,
) -> &'a mut VariableUse {
    let known = uses.iter().position(|known| known.name == name);
    let position = known.unwrap_or_else(|| {
        uses.push(VariableUse {
            name: name.to_owned(),
            required: false,
            default: None,
            server: is_server(name),
            in_stages: false,
            in_notify_when: false,
        });
        uses.len() - 1
    });
    let entry = &mut uses[position];
    entry.required |= required;
    entry.default = entry.default.take().or(default);
    entry
}
