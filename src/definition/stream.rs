//! One declared stream.

use bson::{Bson, Document};

use super::allowed::{Mode, check_stage};
use super::bind::{BindError, ResolvedStage, bind_stages};
use super::bounds::Bounds;
use super::error::DefinitionError;
use super::escape::unescape;
use super::fields::{Fields, FullDocument, FullDocumentBeforeChange};
use super::names::{NameError, check_stream};
use super::notify::{NotifyTemplate, NotifyWhen};
use super::path::At;
use super::stage::StageTemplate;
use super::uses::{VariableUse, uses};
use super::variables::Variables;
use super::violation::Finding;
use super::warnings;

/// A stream as an element of the metadata's `streams` declares it, checked and unescaped.
///
/// Two equal definitions are the same stream: what clients receive does not differ, so an open
/// stream may go on. Equality therefore leaves out [`description`](Self::description) and
/// [`warnings`](Self::warnings), and does not see in which spelling the stages were written.
#[derive(Clone, Debug)]
pub struct StreamDef {
    /// The last segment of the stream's URL.
    pub uri: String,
    /// The pipeline over change events, variables not yet filled in.
    pub stages: Vec<StageTemplate>,
    /// Which clients hear of an event; absent, all do.
    pub notify_when: Option<NotifyTemplate>,
    /// For people.
    pub description: Option<String>,
    /// The `fullDocument` option of the change stream.
    pub full_document: FullDocument,
    /// The `fullDocumentBeforeChange` option of the change stream.
    pub full_document_before_change: FullDocumentBeforeChange,
    /// Also tell of index builds and other events MongoDB hides by default.
    pub show_expanded_events: bool,
    /// Tell clients when a document stops matching their filter.
    pub leave: bool,
    /// What the author should know; nothing here keeps the stream from working.
    pub warnings: Vec<String>,
}

impl PartialEq for StreamDef {
    fn eq(&self, other: &Self) -> bool {
        let options = |def: &Self| {
            (
                def.full_document,
                def.full_document_before_change,
                def.show_expanded_events,
                def.leave,
            )
        };
        self.uri == other.uri
            && self.stages == other.stages
            && self.notify_when == other.notify_when
            && options(self) == options(other)
    }
}

impl StreamDef {
    /// Reads one element of `streams`. The path of an error starts inside the element.
    ///
    /// # Errors
    /// Anything that would keep the stream from working, with the place and the remedy.
    pub fn parse(element: &Bson) -> Result<Self, DefinitionError> {
        Bounds::DEFINITION.check(element).map_err(DefinitionError::new)?;
        let Some(document) = element.as_document() else {
            return Err(DefinitionError::new("a stream is a document with `uri` and `stages`"));
        };
        let fields = Fields(document);
        let mut def = Self {
            uri: uri(&fields)?,
            stages: stages(document)?,
            notify_when: document
                .get("notify_when")
                .map(NotifyTemplate::parse)
                .transpose()
                .at("notify_when")?,
            description: fields.text("description")?.map(str::to_owned),
            full_document: fields.full_document()?,
            full_document_before_change: fields.full_document_before_change()?,
            show_expanded_events: fields.flag("show_expanded_events")?,
            leave: fields.flag("leave")?,
            warnings: fields.unknown(),
        };
        def.warnings.extend(warnings::of(&def));
        Ok(def)
    }

    /// The pipeline for these variables, checked again now that they are filled in.
    ///
    /// # Errors
    /// An unbound variable, a value that is not data, or a stage that became invalid or forbidden.
    pub fn bind_stages(&self, variables: &Variables) -> Result<Vec<ResolvedStage>, BindError> {
        bind_stages(&self.stages, variables)
    }

    /// `notify_when` for these variables; `None` when every client hears of every event.
    ///
    /// # Errors
    /// An unbound variable, or a server variable that does not hold data.
    pub fn bind_notify_when(&self, variables: &Variables) -> Result<Option<NotifyWhen>, BindError> {
        self.notify_when.as_ref().map(|template| template.bind(variables)).transpose()
    }

    /// The variables a client or the server can bind, each once, in order of appearance.
    pub fn variables(&self) -> Vec<VariableUse> {
        uses(self)
    }
}

fn uri(fields: &Fields<'_>) -> Result<String, DefinitionError> {
    let missing = || DefinitionError::new("a stream needs a `uri`, the last segment of its URL");
    let uri = fields.text("uri")?.ok_or_else(missing)?;
    let reason =
        |error: NameError| DefinitionError::new(format!("`{}`: {error}", uri.escape_debug()));
    check_stream(uri).map_err(reason).at("uri")?;
    Ok(uri.to_owned())
}

fn stages(document: &Document) -> Result<Vec<StageTemplate>, DefinitionError> {
    let Some(stages) = document.get("stages") else {
        return Err(DefinitionError::new("a stream needs `stages`; write [] for every event"));
    };
    let wrong = || DefinitionError::new("it must be an array of stages; write [] for every event");
    let elements = stages.as_array().ok_or_else(wrong).at("stages")?;
    let templates = elements.iter().enumerate().map(|(index, element)| stage(element, index));
    templates.collect::<Result<_, _>>().at("stages")
}

fn stage(element: &Bson, index: usize) -> Result<StageTemplate, DefinitionError> {
    let template = StageTemplate::parse(&unescape(element)).at(index)?;
    template.variables().at(index)?;
    let allowed = template.try_each(|stage| check_stage(stage, Mode::Template)).at(index);
    allowed.map_err(|finding: Finding| DefinitionError::from(finding))?;
    Ok(template)
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "rows are written in place and used once")]
mod tests;
