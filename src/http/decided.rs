//! What was decided of a request, kept for as long as a session rests on it.

use bson::Bson;

use crate::{
    access::{Caller, Grant, RequestHead, RequestKind},
    definition::Variables,
};

/// What was decided of one request. An open session may rest on several.
#[derive(Debug, Clone)]
pub(crate) struct Decided {
    pub(crate) head: RequestHead,
    pub(crate) kind: RequestKind,
    /// `None`: denied.
    pub(crate) grant: Option<Grant>,
    /// Variables of the caller that the stream's own definition asks for.
    asks: Vec<String>,
}

impl Decided {
    pub(crate) fn new(head: RequestHead, kind: RequestKind, grant: Option<Grant>) -> Self {
        Self { head, kind, grant, asks: Vec::new() }
    }

    /// The same for a stream that also asks for values of its caller.
    #[must_use]
    pub(crate) fn asking(self, asks: Vec<String>) -> Self {
        Self { asks, ..self }
    }

    /// Whether a caller who has become another one is shown the same by what no permission says: feeds
    /// are held to the caller's tenant, streams to the values that they ask for.
    pub(crate) fn shows_the_same(&self, then: &Caller, now: &Caller) -> bool {
        if self.kind == RequestKind::Feed && tenant(then) != tenant(now) {
            return false;
        }
        if self.asks.is_empty() {
            return true;
        }
        let (then, now) = (values(then), values(now));
        self.asks.iter().all(|name| then.find(name) == now.find(name))
    }
}

/// What a stream's definition may ask of its caller; `null` stands for strangers.
pub(crate) fn user_value(caller: &Caller) -> Bson {
    caller.principal().map_or(Bson::Null, |user| user.properties().clone().into())
}

fn values(caller: &Caller) -> Variables {
    Variables::default().predefine_user(user_value(caller))
}

fn tenant(caller: &Caller) -> Option<&str> {
    caller.principal()?.tenant()
}
