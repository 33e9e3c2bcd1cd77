//! Beginning in the past: from the history when it reaches that far, else from MongoDB.

use std::sync::Arc;

use tokio::time::timeout;

use super::{
    Hub, Item, SubscribeError,
    feed::Feed,
    item::Tail,
    origin::Origin,
    replays::Replays,
    subscription::{Resume, Subscription},
};
use crate::{
    change::{Position, ResumeToken, position::Tie},
    source::SourceError,
};

impl Hub {
    /// Puts a subscription to where the client wants to begin. What the history does not hold is read
    /// later: the client waits for it with its stream open.
    pub(super) async fn rewind(
        &self,
        subscription: &mut Subscription,
        replays: &Arc<Replays>,
        resume: Resume,
    ) -> Result<(), SubscribeError> {
        let (position, origin) = match resume {
            Resume::Live => return Ok(()),
            Resume::Snapshot(filter) => {
                self.begin_snapshot(subscription, replays.clone(), filter);
                return Ok(());
            }
            Resume::Token(token) => (replays.feed.key().after(&token), Origin::Token(token)),
            Resume::Id(ref id) | Resume::Within(ref id) => {
                match replays.feed.key().open(id, replays.feed.scope()) {
                    Ok(position) if matches!(resume, Resume::Within(_)) => {
                        (position, with(position))
                    }
                    Ok(position) => (position, after(position)),
                    Err(error) => return tell_reset(subscription, &error.to_string()),
                }
            }
        };
        if self.lies_in_the_future(&replays.feed, &position).await? {
            return tell_reset(subscription, "the event id lies in the future");
        }
        let last = Tail { id: replays.feed.id_of(&position), time: position.time };
        let next = replays.feed.after_position(&position);
        let again = u64::from(matches!(origin, Origin::Within(_)));
        subscription.rewind(origin, next.map(|next| next - again), last);
        Ok(())
    }

    async fn lies_in_the_future(
        &self,
        feed: &Feed,
        position: &Position,
    ) -> Result<bool, SubscribeError> {
        if position.time <= feed.tail().time {
            return Ok(false);
        }
        let now = timeout(self.0.limits.open_timeout, self.0.source.now()).await;
        let now = now.map_err(|_| SourceError::unresponsive("resuming"))??;
        Ok(now.next() < position.time)
    }
}

fn after(position: Position) -> Origin {
    match position.tie {
        Tie::Before => Origin::Token(ResumeToken::before(position.time)),
        Tie::After(_) => Origin::Event(position),
    }
}

fn with(position: Position) -> Origin {
    match position.tie {
        Tie::Before => after(position),
        Tie::After(_) => Origin::Within(position),
    }
}

/// The client goes on from where the feed stood when it joined.
fn tell_reset(subscription: &mut Subscription, message: &str) -> Result<(), SubscribeError> {
    let at = subscription.last().clone();
    subscription.say(Item::reset("unknown_id", message.to_owned(), at));
    Ok(())
}
