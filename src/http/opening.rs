//! A stream between the request that names it and its session: looked up, bound and planned.

use std::{sync::Arc, time::SystemTime};

use bson::{Bson, oid::ObjectId};

use super::{
    caps::Seat, error::ApiError, gate::Admitted, lifetime::Tempo, lookup::find, request::Query,
    session::Session, state::AppState,
};
use crate::{
    binding::{Binding, Namespace},
    catalog::Watch,
    change::{Dialect, Shape},
    definition::StreamDef,
    hub::{Owner, Resume},
};

/// One stream as a client asks for it, by whatever route.
#[derive(Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) namespace: Namespace,
    pub(crate) uri: String,
    /// The link to the collection.
    pub(crate) collection: String,
    pub(crate) admitted: Admitted,
    /// The query of the stream's own path.
    pub(crate) query: &'a Query,
    /// Typed variables from elsewhere than the query's `avars`.
    pub(crate) vars: Option<&'a Bson>,
    pub(crate) dialect: Dialect,
}

/// A stream that may be opened; MongoDB has not been asked for anything yet.
#[derive(Debug)]
pub(crate) struct Opening {
    namespace: Namespace,
    collection: String,
    pub(crate) admitted: Admitted,
    etag: Option<ObjectId>,
    /// Whether documents come first.
    pub(crate) snapshot: bool,
    /// Sees changes of the definition since before it was read.
    watch: Watch,
    definition: Arc<StreamDef>,
    binding: Binding,
    /// How its changes look.
    pub(crate) shape: Shape,
}

impl Opening {
    /// Looks the stream up and plans it, in the order of the contract.
    pub(crate) async fn plan(state: &AppState, asked: Asked<'_>) -> Result<Self, ApiError> {
        let Asked { namespace, uri, collection, admitted, query, vars, dialect } = asked;
        let variables = query.variables(&admitted.caller, &admitted.grant, vars)?;
        let (mode, etag, snapshot) = (query.json_mode()?, query.etag()?, query.snapshot()?);
        if !state.0.catalog.is_watched(&namespace.db) {
            // A watch is a cursor: none is opened for names that anyone may make up.
            find(state, &namespace, &uri).await?;
        }
        let watch = state.0.catalog.watch(&namespace.db).await;
        let definition = find(state, &namespace, &uri).await?;
        let scope = state.0.gate.scope(&admitted.grant, &namespace);
        let binding = Binding::plan(&namespace, &definition, &variables, &scope)?;
        let shape = Shape { mode, dialect, reshaping: binding.reshaping.clone() };
        Ok(Self {
            namespace,
            collection,
            admitted,
            etag,
            snapshot,
            watch,
            definition,
            binding,
            shape,
        })
    }

    /// Where to begin. Whoever has an id has the documents that came before it.
    pub(crate) fn resume(&self, id: Option<String>) -> Resume {
        match id {
            Some(id) => Resume::Id(id),
            None if self.snapshot => Resume::Snapshot(self.binding.documents.clone()),
            None => Resume::Live,
        }
    }

    /// What the stream is called in logs and counters.
    pub(crate) fn topic(&self) -> String {
        let Namespace { db, coll } = &self.namespace;
        format!("/{db}/{coll}/_streams/{}", self.definition.uri)
    }

    /// A place among those who may be connected.
    pub(crate) fn seat(&self, state: &AppState) -> Result<Seat, ApiError> {
        state.seat(&self.admitted.caller, &self.admitted.head)
    }

    /// When the caller's credential ends.
    pub(crate) fn expiry(&self) -> Option<SystemTime> {
        self.admitted.caller.principal().and_then(|principal| principal.expires_at())
    }

    /// Joins the cursor. When this returns, every later change reaches the session.
    pub(crate) async fn open(
        self,
        state: &AppState,
        resume: Resume,
        tempo: Tempo,
    ) -> Result<Session, ApiError> {
        let owner = self.binding.own.then(|| owner(state, &self.admitted, &self.topic()));
        let Binding { cursor, selection, .. } = self.binding;
        let selection = Arc::new(selection);
        let subscription = state.0.hub.subscribe_for(owner, cursor, selection, resume).await?;
        let session = Session::new(subscription, tempo, self.collection, self.etag);
        let close = session.close_handle();
        let decided = vec![self.admitted.decided().asking(self.definition.user_variables())];
        let Admitted { caller, look, .. } = self.admitted;
        let (rights, gate) = (&state.0.rights, &state.0.gate);
        let rights = rights.register(look, caller, decided, close.clone(), gate);
        let definition = self.watch.guard(&self.namespace.coll, self.definition, close);
        Ok(session.guarded(definition, rights))
    }
}

/// On whose account a cursor is that others cannot share.
pub(crate) fn owner(state: &AppState, admitted: &Admitted, stream: &str) -> Owner {
    let address = || admitted.head.remote_ip().map_or_else(String::new, |ip| format!("@{ip}"));
    let principal = admitted.caller.principal();
    let principal = principal.map_or_else(address, |principal| principal.id().to_owned());
    let told_apart = !state.0.gate.permissions().allow_everything();
    Owner { stream: stream.to_owned(), principal: told_apart.then_some(principal) }
}
