//! The streams that a client of the subprotocol opens on its socket besides the socket's own.

use std::{collections::HashMap, time::SystemTime};

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;

use super::{
    format::{Queued, WsFormat, push_authorized, push_error},
    request::{Reference, Refused, SocketRequest, Subscribe, Wish},
    wire::Outbox,
};
use crate::{
    http::{
        error::ApiError,
        outgoing::Outgoing,
        record::Record,
        session::Session,
        state::AppState,
        turn::{Turn, is_of_connection},
        visitor::Visitor,
    },
    hub::CloseReason,
};

/// Owned by the speaking half of the connection: everything here ends with it.
pub(super) struct Subscriptions {
    state: AppState,
    visitor: Visitor,
    requests: mpsc::Receiver<Bytes>,
    /// Streams that are opening or open. What runs for one that is not here any more was told to end.
    known: HashMap<Reference, AbortHandle>,
    running: FuturesUnordered<Abortable<BoxFuture<'static, Step>>>,
    /// A newer credential is being looked at; one at a time.
    is_authorizing: bool,
    /// How often the credential was replaced.
    renewals: u64,
}

/// What became of a stream, or of a credential.
enum Step {
    /// A stream, and how often the credential had been replaced when it began to open.
    Opened(Reference, u64, Box<Result<(Session, WsFormat), ApiError>>),
    Spoke(Box<Turn<(Reference, WsFormat)>>),
    Authorized(Reference, Box<Result<Visitor, ApiError>>),
}

/// What follows for the socket itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Follows {
    Nothing,
    /// The client's credential ends at this time now.
    Renewal(Option<SystemTime>),
    /// The end of one stream is the end of all.
    End(CloseReason),
}

impl Subscriptions {
    pub(super) fn new(state: AppState, visitor: Visitor, requests: mpsc::Receiver<Bytes>) -> Self {
        let (known, running) = (HashMap::new(), FuturesUnordered::new());
        Self { state, visitor, requests, known, running, is_authorizing: false, renewals: 0 }
    }

    /// Waits for a request or for a stream to speak, and queues what there is to say. Cancel-safe.
    pub(super) async fn next(&mut self, outbox: &mut Outbox) -> Follows {
        tokio::select! {
            Some(message) = self.requests.recv() => {
                if let Err(refused) = self.ask(&message) {
                    push_error(&refused, outbox);
                }
                Follows::Nothing
            }
            Some(step) = self.running.next() => match step {
                Ok(Step::Opened(reference, renewals, outcome)) => {
                    self.opened(reference, *outcome, outbox);
                    if renewals != self.renewals {
                        self.visitor.renew(&self.state);
                    }
                    Follows::Nothing
                }
                Ok(Step::Spoke(turn)) => {
                    self.spoke(turn, outbox).map_or(Follows::Nothing, Follows::End)
                }
                Ok(Step::Authorized(reference, outcome)) => {
                    self.authorized(reference, *outcome, outbox)
                }
                // Given up by its client.
                Err(_) => Follows::Nothing,
            },
            // The listening half is gone, and so will this be.
            else => std::future::pending().await,
        }
    }

    fn ask(&mut self, message: &[u8]) -> Result<(), Refused> {
        let SocketRequest { reference, wish } = SocketRequest::parse(message)?;
        let refused = |status: u16, message: String| {
            Err(Refused { reference: Some(reference.clone()), status, message })
        };
        match wish {
            Wish::Subscribe(_) if self.known.contains_key(&reference) => {
                refused(409, "ref names a stream that is open; unsubscribe first".to_owned())
            }
            Wish::Subscribe(_) if self.known.len() >= self.state.0.streams_per_connection => {
                let most = self.state.0.streams_per_connection;
                refused(429, format!("this socket carries {most} streams, and no more"))
            }
            Wish::Subscribe(subscribe) => {
                let (state, visitor) = (self.state.clone(), self.visitor.clone());
                let opening = open(state, visitor, *subscribe, reference.clone(), self.renewals);
                self.run(reference, Box::pin(opening));
                Ok(())
            }
            Wish::Authorize(_) if self.is_authorizing => refused(
                409,
                "another credential is being looked at; wait for its answer".to_owned(),
            ),
            Wish::Authorize(credential) => {
                self.is_authorizing = true;
                let (state, visitor) = (self.state.clone(), self.visitor.clone());
                let renewing = async move {
                    let renewed = visitor.renewed(&state, &credential).await;
                    Step::Authorized(reference, Box::new(renewed))
                };
                // Nobody gives it up.
                let (_, registration) = AbortHandle::new_pair();
                self.running.push(Abortable::new(Box::pin(renewing), registration));
                Ok(())
            }
            Wish::Unsubscribe => match self.known.remove(&reference) {
                Some(running) => {
                    running.abort();
                    Ok(())
                }
                None => refused(404, "ref names no open stream".to_owned()),
            },
        }
    }

    fn opened(
        &mut self,
        reference: Reference,
        outcome: Result<(Session, WsFormat), ApiError>,
        outbox: &mut Outbox,
    ) {
        match outcome {
            Ok((session, format)) => {
                let turn = Box::new(Turn::new((reference.clone(), format), session));
                self.run(reference, wait(turn));
            }
            Err(error) => {
                self.known.remove(&reference);
                push_error(&Refused::because(reference, &error), outbox);
            }
        }
    }

    /// What is refused leaves everything as it is: until its credential ends, the socket goes on.
    fn authorized(
        &mut self,
        reference: Reference,
        outcome: Result<Visitor, ApiError>,
        outbox: &mut Outbox,
    ) -> Follows {
        self.is_authorizing = false;
        match outcome {
            Ok(visitor) => {
                self.visitor = visitor;
                self.renewals += 1;
                self.visitor.renew(&self.state);
                let expiry = self.visitor.expiry();
                push_authorized(&reference, expiry, outbox);
                Follows::Renewal(expiry)
            }
            Err(error) => {
                push_error(&Refused::because(reference, &error), outbox);
                Follows::Nothing
            }
        }
    }

    fn spoke(
        &mut self,
        mut turn: Box<Turn<(Reference, WsFormat)>>,
        outbox: &mut Outbox,
    ) -> Option<CloseReason> {
        let (reference, format) = &turn.key;
        for message in &turn.messages {
            let before = outbox.pushed();
            let queued = format.push_of(reference, message, outbox);
            turn.said(message, queued != Queued::Unsayable, outbox.pushed() - before);
            if let Outgoing::Close(reason) = message {
                self.known.remove(reference);
                return is_of_connection(*reason).then_some(*reason);
            }
        }
        turn.messages.clear();
        let reference = turn.key.0.clone();
        self.run(reference, wait(turn));
        None
    }

    /// Waits for a stream along with the others, behind those that are ready.
    fn run(&mut self, reference: Reference, future: BoxFuture<'static, Step>) {
        let (abort, registration) = AbortHandle::new_pair();
        self.known.insert(reference, abort);
        self.running.push(Abortable::new(future, registration));
    }
}

impl Refused {
    fn because(reference: Reference, error: &ApiError) -> Self {
        let (status, message) = (error.status().as_u16(), error.to_string());
        Self { reference: Some(reference), status, message }
    }
}

fn wait(turn: Box<Turn<(Reference, WsFormat)>>) -> BoxFuture<'static, Step> {
    Box::pin(async { Step::Spoke(turn.take().await) })
}

async fn open(
    state: AppState,
    visitor: Visitor,
    subscribe: Subscribe,
    reference: Reference,
    renewals: u64,
) -> Step {
    let opened = async {
        let visitor = visitor.again(&state).await?;
        let opening = visitor.plan(&state, &subscribe.path, subscribe.vars.as_ref()).await?;
        let format = WsFormat { shape: opening.shape.clone(), enveloped: true };
        let own = subscribe.path.query.get("lastEventId").filter(|id| !id.is_empty());
        let id = subscribe.last_event_id.or_else(|| own.map(str::to_owned));
        let resume = opening.resume(id);
        let topic = opening.topic();
        let session = opening.open(&state, resume, state.tempo().shared()).await?;
        Ok((session.recorded(Record::stream(&state, topic)), format))
    };
    Step::Opened(reference, renewals, Box::new(opened.await))
}
