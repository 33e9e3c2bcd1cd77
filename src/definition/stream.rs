//! One declared stream.

use super::bind::{BindError, ResolvedStage, bind_stages};
use super::fields::{FullDocument, FullDocumentBeforeChange};
use super::notify::{NotifyTemplate, NotifyWhen};
use super::stage::StageTemplate;
use super::variables::Variables;

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
}
