use crate::source::SourceError;

/// Why a subscription cannot be had.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SubscribeError {
    /// MongoDB says no, or does not answer.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The cap is reached.
    #[error(
        "all {0} cursors are in use; use notify_when instead of stage variables, or raise streams.cursors"
    )]
    Full(usize),
    /// The cap on cursors that serve one binding only is reached.
    #[error(
        "{0} cursors that cannot be shared are in use; use notify_when instead of stage variables, or raise streams.own_cursors.{1}"
    )]
    OwnFull(usize, &'static str),
    /// The process is going down.
    #[error("the service is shutting down")]
    Draining,
}
