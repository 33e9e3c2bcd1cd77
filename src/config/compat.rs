use super::settings::Settings;

/// Whose frames a stream sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CompatMode {
    /// Tailwater's own.
    #[default]
    Off,
    /// Exactly RESTHeart's: raw resume tokens as ids, comments as keep-alive, no other events.
    Restheart,
}

impl CompatMode {
    pub(crate) fn read(settings: &mut Settings) -> Self {
        match settings.choice("compat").as_str() {
            "restheart" => Self::Restheart,
            _ => Self::Off,
        }
    }
}
