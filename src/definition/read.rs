//! Reading a stream's definition.

use bson::{Bson, Document};

use super::allowed::{Mode, check_stage};
use super::bounds::Bounds;
use super::error::DefinitionError;
use super::escape::unescape;
use super::fields::Fields;
use super::names::{NameError, check_stream};
use super::notify::NotifyTemplate;
use super::path::At;
use super::stage::StageTemplate;
use super::stream::StreamDef;
use super::violation::Finding;
use super::warnings;

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
        if document.contains_key("collation") {
            let reason = "a stream has no collation, text is compared byte for byte; remove it";
            return Err(DefinitionError::new(reason)).at("collation");
        }
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
