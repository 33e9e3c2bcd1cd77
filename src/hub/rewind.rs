//! Beginning in the past: from the history when it reaches that far, else from MongoDB.

use std::sync::Arc;

use tokio::time::timeout;

use super::{
    Hub, Item, SubscribeError,
    catch_up::{self, CatchUp},
    item::Tail,
    subscription::{Resume, Rewind, Subscription},
};
use crate::{
    binding::CursorSpec,
    change::{Position, ResumeToken, position::Tie},
    source::{Open, Reader, SourceError},
};

impl Hub {
    /// Puts a subscription to where the client wants to begin.
    pub(super) async fn rewind(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        resume: Resume,
    ) -> Result<(), SubscribeError> {
        let begun = async {
            match resume {
                Resume::Live => Ok(()),
                Resume::Token(token) => {
                    let position = subscription.feed().key().after(&token);
                    self.rewind_to_token(subscription, spec, &token, &position).await
                }
                Resume::Id(id) => self.rewind_to_id(subscription, spec, &id).await,
            }
        };
        let outcome = timeout(self.0.limits.open_timeout, begun).await;
        outcome.unwrap_or_else(|_| Err(SourceError::unresponsive("resuming").into()))
    }

    async fn rewind_to_id(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        id: &str,
    ) -> Result<(), SubscribeError> {
        let feed = subscription.feed();
        let position = match feed.key().open(id, feed.scope()) {
            Ok(position) => position,
            Err(error) => {
                tell_reset(subscription, "unknown_id", &error.to_string());
                return Ok(());
            }
        };
        if let Some(next) = feed.after_position(&position) {
            let last = tail(subscription, &position);
            subscription.rewind(Rewind::History { next, seen: None }, last);
            return Ok(());
        }
        if self.0.source.now().await?.next() < position.time {
            tell_reset(subscription, "unknown_id", "the event id lies in the future");
            return Ok(());
        }
        match position.tie {
            Tie::Before => {
                let token = ResumeToken::before(position.time);
                self.rewind_to_token(subscription, spec, &token, &position).await
            }
            Tie::After(_) => self.rewind_to_event(subscription, spec, position).await,
        }
    }

    /// To just after a token, whether or not an event bears it.
    async fn rewind_to_token(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        token: &ResumeToken,
        position: &Position,
    ) -> Result<(), SubscribeError> {
        if let Some(next) = subscription.feed().after(token) {
            let last = tail(subscription, position);
            // Another replica may have told the token before this one's cursor has come to it.
            let seen = Some(token.clone());
            subscription.rewind(Rewind::History { next, seen }, last);
            return Ok(());
        }
        self.catch_up(subscription, spec, Open::after(token), position).await
    }

    /// To just after an event of which only the position is known.
    async fn rewind_to_event(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        position: Position,
    ) -> Result<(), SubscribeError> {
        let (source, feed) = (self.0.source.clone(), subscription.feed().clone());
        let spec_of_task = spec.clone();
        // A task of its own: the client may leave, and a cursor's future has to run to its end.
        let locating = self.0.tasks.spawn(async move {
            catch_up::locate(source.as_ref(), &spec_of_task, &feed, &position).await
        });
        let failed = |_| SourceError::unexpected("the search for an event failed");
        match locating.await.map_err(failed)? {
            Ok(Some(open)) => self.catch_up(subscription, spec, open, &position).await,
            Ok(None) => {
                let message = "the event that the id names is no longer known";
                tell_reset(subscription, "unknown_id", message);
                Ok(())
            }
            Err(error) if catch_up::is_lost(&error) => {
                tell_reset(subscription, "history_lost", LOST);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }

    async fn catch_up(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        open: Open,
        position: &Position,
    ) -> Result<(), SubscribeError> {
        let permit = self.0.catch_ups.clone().acquire_owned().await;
        let permit = permit.map_err(|_| SubscribeError::Draining)?;
        let cancelled = self.0.closing.child_token();
        let source = self.0.source.clone();
        let reader = Reader::open(source, spec.clone(), Some(open), cancelled.clone()).await;
        match reader {
            Ok(reader) => {
                let feed = subscription.feed().clone();
                let reading = CatchUp::start(reader, feed, cancelled, permit, &self.0.tasks);
                let last = tail(subscription, position);
                subscription.rewind(Rewind::CatchUp(reading), last);
                Ok(())
            }
            Err(error) if catch_up::is_lost(&error) => {
                tell_reset(subscription, "history_lost", LOST);
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

const LOST: &str = "MongoDB no longer holds the changes since that event id";

fn tail(subscription: &Subscription, position: &Position) -> Tail {
    Tail { id: subscription.feed().id_of(position), time: position.time }
}

/// The client goes on from where the feed stood when it joined.
fn tell_reset(subscription: &mut Subscription, reason: &'static str, message: &str) {
    let at = subscription.last().clone();
    subscription.say(Item::reset(reason, message.to_owned(), at));
}
