//! Declared entities and subscriptions: read from a folder, and read again when it changes.

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, SystemTime},
};

use tokio_util::sync::CancellationToken;

use crate::{
    entity::{Asked, Entities, Found, Note, Texts},
    hub::{CloseHandle, CloseReason},
};

/// How often the folder is read. A change counts once it has been read twice: an editor may be in
/// the middle of writing.
const POLL: Duration = Duration::from_millis(400);

/// What is declared now, and who depends on it. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Declarations(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    current: Arc<Entities>,
    problem: Option<Problem>,
    sessions: HashMap<u64, Session>,
    next_id: u64,
}

#[derive(Debug)]
struct Session {
    asked: Asked,
    found: Found,
    close: CloseHandle,
}

/// Why the folder's present content is not in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// When it was noticed.
    pub since: SystemTime,
    /// Each with its place and the remedy.
    pub errors: Vec<String>,
}

/// Keeps a session registered; dropping it takes the session off.
#[derive(Debug)]
pub struct DeclarationGuard {
    declarations: Declarations,
    id: u64,
}

impl Declarations {
    /// Declarations that do not change.
    pub fn of(entities: Entities) -> Self {
        let declarations = Self::default();
        declarations.lock().current = Arc::new(entities);
        declarations
    }

    /// Reads a folder and keeps reading it until `stop`.
    ///
    /// # Errors
    /// Everything that is wrong in it.
    pub fn follow(folder: &Path, stop: CancellationToken) -> Result<Self, Vec<Note>> {
        let texts = Texts::read(folder)?;
        let declarations = Self::of(texts.parse()?);
        let (folder, following) = (folder.to_owned(), declarations.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = following.watch(folder, texts) => {}
                () = stop.cancelled() => {}
            }
        });
        Ok(declarations)
    }

    /// What is declared now.
    pub fn current(&self) -> Arc<Entities> {
        self.lock().current.clone()
    }

    /// Why the last valid declarations are in use instead of the folder's, if so.
    pub fn problem(&self) -> Option<Problem> {
        self.lock().problem.clone()
    }

    /// Registers a session, to be closed when what it was opened for is declared differently. What
    /// changed since `found` was found is noticed at once.
    pub fn guard(&self, asked: Asked, found: Found, close: CloseHandle) -> DeclarationGuard {
        let mut state = self.lock();
        let id = state.next_id;
        state.next_id += 1;
        let session = Session { asked, found, close };
        session.compare(&state.current);
        state.sessions.insert(id, session);
        DeclarationGuard { declarations: self.clone(), id }
    }

    /// Puts other declarations in place. Sessions that they do not concern notice nothing.
    pub fn replace(&self, entities: Entities) {
        let mut state = self.lock();
        state.current = Arc::new(entities);
        state.problem = None;
        state.sessions.values().for_each(|session| session.compare(&state.current));
    }

    async fn watch(&self, folder: PathBuf, texts: Texts) {
        let mut last = Ok(texts);
        let mut settled = true;
        loop {
            tokio::time::sleep(POLL).await;
            let path = folder.clone();
            let reading = tokio::task::spawn_blocking(move || Texts::read(&path));
            let Ok(read) = reading.await else { continue };
            if read != last {
                last = read;
                settled = false;
            } else if !settled {
                settled = true;
                match &last {
                    Ok(texts) => self.apply(texts),
                    Err(notes) => self.keep(notes),
                }
            }
        }
    }

    fn apply(&self, texts: &Texts) {
        match texts.parse() {
            Ok(entities) => {
                tracing::info!("the declarations of entities are read anew");
                log(&entities);
                self.replace(entities);
            }
            Err(notes) => self.keep(&notes),
        }
    }

    /// The last valid declarations stay.
    fn keep(&self, notes: &[Note]) {
        let errors: Vec<_> = notes.iter().map(ToString::to_string).collect();
        for error in &errors {
            tracing::error!(%error, "declarations are invalid; the last valid ones stay in use");
        }
        self.lock().problem = Some(Problem { since: SystemTime::now(), errors });
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Says what is served, and what may surprise: entities without events among it.
pub fn log(entities: &Entities) {
    let served = entities.entities().iter().filter(|entity| entity.has_feed());
    let names: Vec<&str> = served.map(|entity| entity.name.as_str()).collect();
    tracing::info!(entities = %names.join(", "), "entities with a feed");
    entities.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
}

impl Session {
    fn compare(&self, entities: &Entities) {
        match entities.find(&self.asked) {
            None => self.close.close(CloseReason::StreamGone),
            Some(found) if found != self.found => self.close.close(CloseReason::StreamRedefined),
            Some(_) => {}
        }
    }
}

impl Drop for DeclarationGuard {
    fn drop(&mut self) {
        self.declarations.lock().sessions.remove(&self.id);
    }
}
