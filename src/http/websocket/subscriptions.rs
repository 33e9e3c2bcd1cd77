//! The streams that a client of the subprotocol opens on its socket besides the socket's own.

use std::collections::HashMap;

use bytes::Bytes;
use futures_util::{
    StreamExt,
    future::{AbortHandle, Abortable, BoxFuture},
    stream::FuturesUnordered,
};
use tokio::sync::mpsc;

use super::{
    format::{Queued, WsFormat, push_error},
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
}

/// What became of a stream.
enum Step {
    Opened(Reference, Box<Result<(Session, WsFormat), ApiError>>),
    Spoke(Box<Turn<(Reference, WsFormat)>>),
}

impl Subscriptions {
    pub(super) fn new(state: AppState, visitor: Visitor, requests: mpsc::Receiver<Bytes>) -> Self {
        let (known, running) = (HashMap::new(), FuturesUnordered::new());
        Self { state, visitor, requests, known, running }
    }

    /// Waits for a request or for a stream to speak, and queues what there is to say. `Some`: the
    /// socket ends. Cancel-safe.
    pub(super) async fn next(&mut self, outbox: &mut Outbox) -> Option<CloseReason> {
        tokio::select! {
            Some(message) = self.requests.recv() => {
                if let Err(refused) = self.ask(&message) {
                    push_error(&refused, outbox);
                }
                None
            }
            Some(step) = self.running.next() => match step {
                Ok(Step::Opened(reference, outcome)) => {
                    self.opened(reference, *outcome, outbox);
                    None
                }
                Ok(Step::Spoke(turn)) => self.spoke(turn, outbox),
                // Given up by its client.
                Err(_) => None,
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
                let opening =
                    open(self.state.clone(), self.visitor.clone(), *subscribe, reference.clone());
                self.run(reference, Box::pin(opening));
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
                let status = error.status().as_u16();
                let message = error.to_string();
                push_error(&Refused { reference: Some(reference), status, message }, outbox);
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

fn wait(turn: Box<Turn<(Reference, WsFormat)>>) -> BoxFuture<'static, Step> {
    Box::pin(async { Step::Spoke(turn.take().await) })
}

async fn open(
    state: AppState,
    visitor: Visitor,
    subscribe: Subscribe,
    reference: Reference,
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
    Step::Opened(reference, Box::new(opened.await))
}
