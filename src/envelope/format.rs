//! The formats that an event may be declared with.

/// How an event is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Format {
    /// The plain fields.
    #[default]
    Json,
    /// CloudEvents 1.0, JSON format.
    CloudEvents,
    /// Avro, single-object encoding.
    Avro,
}

/// A format that does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a format; use json, cloudevents or avro")]
pub struct UnknownFormat(pub String);

impl Format {
    /// Every format.
    pub const ALL: [Self; 3] = [Self::Json, Self::CloudEvents, Self::Avro];

    /// As it is declared.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::CloudEvents => "cloudevents",
            Self::Avro => "avro",
        }
    }

    /// The media type of one envelope.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::CloudEvents => "application/cloudevents+json",
            Self::Avro => "application/vnd.apache.avro+binary",
        }
    }
}

impl std::str::FromStr for Format {
    type Err = UnknownFormat;

    fn from_str(text: &str) -> Result<Self, UnknownFormat> {
        let known = Self::ALL.into_iter().find(|format| format.as_str() == text);
        known.ok_or_else(|| UnknownFormat(text.chars().take(64).collect()))
    }
}
