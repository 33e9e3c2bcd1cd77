//! Beginning in the past: from the history when it reaches that far, else from MongoDB.

use std::sync::Arc;

use tokio::time::timeout;

use super::{
    Hub, SubscribeError,
    catch_up::{self, CatchUp},
    item::Tail,
    subscription::{Resume, Rewind, Subscription},
};
use crate::{
    binding::CursorSpec,
    change::{Position, ResumeToken},
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
        match resume {
            Resume::Live => Ok(()),
            Resume::Token(token) => self.rewind_to_token(subscription, spec, &token).await,
            Resume::Id(id) => {
                let feed = subscription.feed();
                match feed.key().open(&id, feed.scope()) {
                    Ok(position) => self.rewind_to(subscription, spec, position).await,
                    Err(error) => {
                        tell_reset(subscription, "unknown_id", error.to_string());
                        Ok(())
                    }
                }
            }
        }
    }

    async fn rewind_to_token(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        token: &ResumeToken,
    ) -> Result<(), SubscribeError> {
        let feed = subscription.feed();
        let last = Tail { id: feed.id_of(&feed.key().after(token)), time: token.cluster_time() };
        if let Some(number) = feed.after(token) {
            subscription.rewind(Rewind::History(number), last);
            return Ok(());
        }
        self.catch_up(subscription, spec, Open::after(token), last).await
    }

    async fn rewind_to(
        &self,
        subscription: &mut Subscription,
        spec: &Arc<CursorSpec>,
        position: Position,
    ) -> Result<(), SubscribeError> {
        let last = Tail { id: subscription.feed().id_of(&position), time: position.time };
        if let Some(number) = subscription.feed().after_position(&position) {
            subscription.rewind(Rewind::History(number), last);
            return Ok(());
        }
        if self.0.source.now().await?.next() < position.time {
            tell_reset(subscription, "unknown_id", "the event id lies in the future".to_owned());
            return Ok(());
        }
        let source = self.0.source.as_ref();
        match catch_up::locate(source, spec, subscription.feed(), &position).await {
            Ok(Some(open)) => self.catch_up(subscription, spec, open, last).await,
            Ok(None) => {
                let message = "the event that the id names is no longer known";
                tell_reset(subscription, "unknown_id", message.to_owned());
                Ok(())
            }
            Err(error) if catch_up::is_lost(&error) => {
                tell_reset(subscription, "history_lost", LOST.to_owned());
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
        last: Tail,
    ) -> Result<(), SubscribeError> {
        let waiting = timeout(self.0.limits.open_timeout, self.0.catch_ups.clone().acquire_owned());
        let busy = || SourceError::unresponsive("waiting for a catch-up cursor");
        let permit = waiting.await.map_err(|_| busy())?.map_err(|_| SubscribeError::Draining)?;
        let cancelled = self.0.closing.child_token();
        let source = self.0.source.clone();
        let reader = Reader::open(source, spec.clone(), Some(open), cancelled.clone()).await;
        match reader {
            Ok(reader) => {
                let feed = subscription.feed().clone();
                let reading = CatchUp::start(reader, feed, cancelled, permit, &self.0.tasks);
                subscription.rewind(Rewind::CatchUp(reading), last);
                Ok(())
            }
            Err(error) if catch_up::is_lost(&error) => {
                tell_reset(subscription, "history_lost", LOST.to_owned());
                Ok(())
            }
            Err(error) => Err(error.into()),
        }
    }
}

const LOST: &str = "MongoDB no longer holds the changes since that event id";

fn tell_reset(subscription: &mut Subscription, reason: &'static str, message: String) {
    let time = subscription.last().time;
    let item = subscription.feed().reset(reason, message, time);
    subscription.say(item);
}
