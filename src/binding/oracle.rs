//! A condition on a hidden field tells its value by whether an event comes: clients may not ask.

use bson::RawDocumentBuf;

use super::{Cut, PlanError, Scope};
use crate::{
    definition::{NotifyWhen, ResolvedStage, StreamDef},
    query::{Filter, ParseOptions, Projection},
};

/// Refuses conditions with a client's values on what the client may not see.
pub(super) fn check(
    definition: &StreamDef,
    stages: &[ResolvedStage],
    notify_when: Option<&NotifyWhen>,
    cut: Option<&Cut>,
    scope: &Scope,
) -> Result<(), PlanError> {
    if cut.is_none() && scope.read_filter.is_none() && scope.secrets.is_empty() {
        return Ok(());
    }
    for stage in stages.iter().filter(|stage| stage.asks) {
        for path in asked(stage)? {
            judge(&path, cut, scope)?;
        }
    }
    let asks = definition.variables().iter().any(|used| used.in_notify_when && !used.server);
    for entry in notify_when.filter(|_| asks).iter().flat_map(|notify| &notify.entries) {
        judge(&entry.path, cut, scope)?;
    }
    Ok(())
}

/// The paths that a stage looks at. A stage that computes could look at anything.
fn asked(stage: &ResolvedStage) -> Result<Vec<String>, PlanError> {
    let Ok(raw) = RawDocumentBuf::try_from(&stage.stage) else { return Ok(Vec::new()) };
    if let Ok(filter) = raw.get_document("$match") {
        if let Ok(filter) = Filter::parse(filter, &ParseOptions::event()) {
            return Ok(filter.paths().iter().map(ToString::to_string).collect());
        }
    } else if Projection::parse(&raw).is_ok() {
        return Ok(Vec::new());
    }
    let reason = "a stage computes with a client's variable, so what it reveals cannot be told";
    Err(PlanError::Scope(reason.to_owned()))
}

fn judge(path: &str, cut: Option<&Cut>, scope: &Scope) -> Result<(), PlanError> {
    let (root, inner) = path.split_once('.').unwrap_or((path, ""));
    let hidden = match (root, inner) {
        // What a document was is shown only where its reader could read it then.
        ("updateDescription" | "fullDocumentBeforeChange", _) if scope.read_filter.is_some() => {
            true
        }
        ("fullDocument" | "fullDocumentBeforeChange", "") => false,
        ("fullDocument" | "fullDocumentBeforeChange", inner) => {
            cut.is_some_and(|cut| cut.hides(inner)) || scope.secrets.hides(inner)
        }
        ("updateDescription", _) => cut.is_some() || !scope.secrets.is_empty(),
        _ => false,
    };
    if hidden { Err(PlanError::Hidden(path.to_owned())) } else { Ok(()) }
}
