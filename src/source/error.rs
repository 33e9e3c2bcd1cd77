//! What an error of MongoDB means for a stream. This is the one table.

use mongodb::error::{Error, ErrorKind};

use super::open::FENCE;

/// A failure to open or read a cursor.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct SourceError {
    /// What to do about it.
    pub fault: Fault,
    /// MongoDB's error code.
    pub code: Option<i32>,
    /// What happened and what mends it. Shown to clients: holds no pipeline, address or credential.
    pub message: String,
}

/// What an error calls for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Open again from the newest token, for ever, with back-off.
    Transient,
    /// The position is gone: open at now and tell every client that changes were missed.
    Lost,
    /// MongoDB refuses the pipeline, or a stage fails on one event.
    Rejected,
    /// A fenced cursor has come to the first event beyond its end.
    Fence,
    /// The collection cannot be watched at all: a view or a time-series collection.
    Unwatchable,
    /// The service's own user may not do this.
    Privilege,
    /// The deployment is not a replica set.
    Topology,
}

impl Fault {
    /// Whether it passes without anyone's doing here: what is asked for stands.
    pub(crate) fn is_an_outage(self) -> bool {
        matches!(self, Self::Transient | Self::Privilege | Self::Topology)
    }
}

/// Codes by fault. What is not listed is [`Fault::Rejected`] unless a label says that it is resumable.
const CODES: &[(Fault, &[i32])] = &[
    // ChangeStreamHistoryLost, ChangeStreamFatalError, InvalidResumeToken.
    (Fault::Lost, &[286, 280, 260]),
    (
        Fault::Transient,
        &[
            6, 7, 89, 91, 189, 262, 9001, 10107, 11600, 11601, 11602, 13435, 13436, 63, 150, 13388,
            234, 133, 43, 237, 50, 134, 202, 208, 276, 290, 358, 384,
            // CappedPositionLost: the token may still be good, and if not, 286 follows.
            136,
        ],
    ),
    (Fault::Privilege, &[13, 18, 33, 8000]),
    (Fault::Unwatchable, &[166]),
    (Fault::Topology, &[40573]),
];

const STANDALONE: &str = "MongoDB is a standalone server and has no change streams; \
     start mongod with --replSet and run rs.initiate()";

impl SourceError {
    /// The deployment is a standalone server.
    pub(crate) fn standalone() -> Self {
        Self { fault: Fault::Topology, code: None, message: STANDALONE.to_owned() }
    }

    /// MongoDB did not answer in time.
    pub(crate) fn unresponsive(doing: &str) -> Self {
        let message = format!("MongoDB did not answer in time while {doing}");
        Self { fault: Fault::Transient, code: None, message }
    }

    /// MongoDB answered with something that is not what it documents.
    pub(crate) fn unexpected(message: impl Into<String>) -> Self {
        Self { fault: Fault::Transient, code: None, message: message.into() }
    }
}

impl From<Error> for SourceError {
    fn from(error: Error) -> Self {
        let (code, fault) = classify(&error);
        Self { fault, code, message: message(&error, fault) }
    }
}

impl From<bson::error::Error> for SourceError {
    fn from(error: bson::error::Error) -> Self {
        Self::unexpected(format!("the answer of MongoDB cannot be read: {error}"))
    }
}

fn classify(error: &Error) -> (Option<i32>, Fault) {
    match error.kind.as_ref() {
        ErrorKind::Command(command) if command.message.contains(FENCE.as_str()) => {
            (Some(command.code), Fault::Fence)
        }
        ErrorKind::Command(command) => (Some(command.code), of_command(error, command.code)),
        ErrorKind::Authentication { .. } => (None, Fault::Privilege),
        _ => (None, Fault::Transient),
    }
}

fn of_command(error: &Error, code: i32) -> Fault {
    let listed = CODES.iter().find(|(_, codes)| codes.contains(&code)).map(|(fault, _)| *fault);
    let resumable = ["ResumableChangeStreamError", "RetryableError", "RetryableWriteError"];
    listed.unwrap_or_else(|| {
        let labelled = resumable.iter().any(|label| error.contains_label(label));
        if labelled { Fault::Transient } else { Fault::Rejected }
    })
}

/// A privilege error of the server quotes the whole command, so the text is ours there.
fn message(error: &Error, fault: Fault) -> String {
    match (fault, error.kind.as_ref()) {
        (Fault::Privilege, _) => "the service's MongoDB user may not watch this collection; \
             grant it the changeStream and find actions on it"
            .to_owned(),
        (Fault::Topology, _) => STANDALONE.to_owned(),
        (Fault::Unwatchable, _) => "the collection is a view or a time-series collection, \
             which MongoDB cannot watch; declare the stream on the collection behind it"
            .to_owned(),
        (Fault::Transient, ErrorKind::ServerSelection { .. }) => {
            "MongoDB cannot be reached".to_owned()
        }
        (Fault::Transient, ErrorKind::Io(_)) => "the connection to MongoDB failed".to_owned(),
        (_, ErrorKind::Command(command)) => command.message.clone(),
        (_, _) => "MongoDB is not available".to_owned(),
    }
}
