//! One session among several on a connection: each speaks when it has something to say, and then waits
//! behind those who are ready too.

use super::{outgoing::Outgoing, session::Session};
use crate::hub::CloseReason;

/// A session that is waited for, and what it then says.
#[derive(Debug)]
pub(crate) struct Turn<K> {
    /// Which session.
    pub(crate) key: K,
    session: Session,
    /// What it says now; taken by whoever writes it.
    pub(crate) messages: Vec<Outgoing>,
}

impl<K> Turn<K> {
    pub(crate) fn new(key: K, session: Session) -> Self {
        Self { key, session, messages: Vec::new() }
    }

    /// Notes that a message of the session was said in so many bytes, or that it could not be.
    pub(crate) fn said(&self, message: &Outgoing, encoded: bool, bytes: usize) {
        self.session.said(message, encoded);
        self.session.sent(bytes);
    }

    /// Waits until the session says something; its last word is a close.
    pub(crate) async fn take(mut self: Box<Self>) -> Box<Self> {
        self.session.next(&mut self.messages).await;
        self
    }
}

/// Whether a reason concerns all streams of the connection: it is the connection that ends.
pub(crate) fn is_of_connection(reason: CloseReason) -> bool {
    matches!(
        reason,
        CloseReason::GoingAway | CloseReason::ServiceRestart | CloseReason::CredentialsExpired
    )
}
