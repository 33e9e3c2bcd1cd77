//! What a mongod is started with, and the start itself.

use std::{
    ffi::OsString,
    fs,
    net::{Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
};

use super::{
    Mongod, MongodError,
    guard::Guard,
    log::{self, Log},
    program::Program,
    ready::{self, NotReady},
};

/// The tests' and `dev`'s oplog: small, as nobody keeps a position for days.
const OPLOG_MB: u32 = 64;

/// A free port can be taken by someone else before mongod binds it; then another is tried.
const PORT_ATTEMPTS: u32 = 5;

/// What the mongod becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Topology {
    /// No replica set: change streams do not work.
    Standalone,
    /// The only member of a set, and its primary.
    #[default]
    SingleNode,
    /// A member of a set that the caller initiates.
    Member,
}

/// Settings of a mongod to be started.
#[derive(Debug, Clone)]
pub struct MongodBuilder {
    pub(super) data_dir: Option<PathBuf>,
    pub(super) port: u16,
    pub(super) topology: Topology,
    pub(super) oplog_mb: u32,
    pub(super) parameters: Vec<(String, String)>,
    pub(super) args: Vec<OsString>,
    pub(super) native_only: bool,
}

impl Default for MongodBuilder {
    fn default() -> Self {
        Self {
            data_dir: None,
            port: 0,
            topology: Topology::default(),
            oplog_mb: OPLOG_MB,
            parameters: Vec::new(),
            args: Vec::new(),
            native_only: false,
        }
    }
}

impl MongodBuilder {
    /// Keeps the data there, across restarts; it is created when missing. Without this the data is
    /// removed when the mongod ends. Under Docker a volume that belongs to this path holds the data.
    pub fn data_dir(mut self, folder: impl Into<PathBuf>) -> Self {
        self.data_dir = Some(folder.into());
        self
    }

    /// The port on 127.0.0.1; 0, the default, is any free one.
    pub fn port(mut self, port: u16) -> Self {
        self.port = port;
        self
    }

    /// What the mongod becomes; by default a set of one.
    pub fn topology(mut self, topology: Topology) -> Self {
        self.topology = topology;
        self
    }

    /// The oplog's size in megabytes: 64 unless told, and not below 1.
    pub fn oplog_mb(mut self, megabytes: u32) -> Self {
        self.oplog_mb = megabytes.max(1);
        self
    }

    /// A server parameter, as in `--setParameter name=value`.
    pub fn parameter(mut self, name: &str, value: &str) -> Self {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// One more argument for mongod's command line.
    pub fn arg(mut self, arg: impl Into<OsString>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Uses no Docker: for instances that need this machine's files, or reach one another by port.
    pub fn native_only(mut self) -> Self {
        self.native_only = true;
        self
    }

    /// Finds a mongod, starts it and waits until it is what [`Topology`] says.
    pub async fn start(self) -> Result<Mongod, MongodError> {
        let program = Program::find(self.native_only).await?;
        let mut attempt = 1;
        loop {
            match self.start_once(&program).await {
                Err(MongodError::PortInUse { .. }) if self.port == 0 && attempt < PORT_ATTEMPTS => {
                    attempt += 1;
                }
                outcome => return outcome,
            }
        }
    }

    async fn start_once(&self, program: &Program) -> Result<Mongod, MongodError> {
        let port = free_port(self.port)?;
        let folder = Folder::create(self.data_dir.as_deref())?;
        let mut log = Log::open(&folder.path.join("mongod.log"))?;
        let mut launch = program.launch(self, &folder.path, port);
        launch.remove = folder.temporary.then(|| folder.path.clone());
        let mut mongod = Mongod {
            guard: Guard::start(&launch, log.writer()?)?,
            port,
            member_host: program.member_host(port),
            origin: program.origin(),
        };
        match ready::wait(&mut mongod, self.topology).await {
            Ok(()) => Ok(mongod),
            Err(why) => {
                mongod.stop().await?;
                Err(explain(why, &log.tail(), &folder.path, port))
            }
        }
    }
}

/// `wanted`, or a free port when it is 0.
fn free_port(wanted: u16) -> Result<u16, MongodError> {
    let in_use = |_| MongodError::PortInUse { port: wanted };
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, wanted)).map_err(in_use)?;
    Ok(listener.local_addr().map_err(in_use)?.port())
}

/// Where the data is.
struct Folder {
    path: PathBuf,
    /// Whether nobody wants the data after the mongod has ended.
    temporary: bool,
}

impl Folder {
    fn create(kept: Option<&Path>) -> Result<Self, MongodError> {
        let temporary = kept.is_none();
        let path = kept.map_or_else(temporary_path, Path::to_owned);
        let doing = || format!("create the data folder {}", path.display());
        // A temporary name that exists already is someone else's, and would be removed at the end.
        let created = if temporary { fs::create_dir(&path) } else { fs::create_dir_all(&path) };
        created
            .and_then(|()| std::path::absolute(&path))
            .map(|path| Self { path, temporary })
            .map_err(|source| MongodError::Io { doing: doing(), source })
    }
}

fn temporary_path() -> PathBuf {
    let name = format!("tailwater-mongod-{:016x}", rand::random::<u64>());
    std::env::temp_dir().join(name)
}

/// Turns the end of a mongod into the error that names the remedy.
fn explain(why: NotReady, log: &str, folder: &Path, port: u16) -> MongodError {
    let status = match why {
        NotReady::TimedOut { seconds, last } => {
            return MongodError::NotReady { seconds, last, log: log::reason(log) };
        }
        NotReady::Failed(error) => return error,
        NotReady::Exited(status) => status.to_string(),
    };
    if log.contains("DBPathInUse") {
        MongodError::DataInUse { path: folder.display().to_string() }
    } else if log.contains("Address already in use") || log.contains("port is already allocated") {
        MongodError::PortInUse { port }
    } else {
        MongodError::Exited { status, log: log::reason(log) }
    }
}
