//! Which mongod to run, and the command line that runs it.

use std::{
    env,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

use tracing::info;

use super::{
    MongodError, REPLICA_SET,
    builder::{MongodBuilder, Topology},
    docker, provision,
};

/// The file that a mongod program has in any folder.
pub(super) const FILE_NAME: &str = "mongod";

/// Something that can run a mongod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Program {
    /// A Docker engine.
    Docker,
    /// A program on this machine.
    Native {
        path: PathBuf,
        /// Where the libraries are that the machine itself lacks.
        libraries: Option<PathBuf>,
    },
}

/// Everything that the guard needs to run a command.
#[derive(Debug)]
pub(super) struct Launch {
    pub(super) program: PathBuf,
    pub(super) args: Vec<OsString>,
    pub(super) environment: Vec<(&'static str, OsString)>,
    /// The container's name, when the command is Docker's.
    pub(super) container: Option<String>,
    /// A folder to remove when the command has ended: data that nobody keeps.
    pub(super) remove: Option<PathBuf>,
}

impl Program {
    /// The first that is there: Docker, `MONGOD`, `PATH`, the user's cache, a download into it.
    pub(super) async fn find(native_only: bool) -> Result<Self, MongodError> {
        let mut tried = Vec::new();
        if native_only {
            tried.push("Docker cannot run this kind of instance".to_owned());
        } else {
            match docker::answers().await {
                Ok(()) => return Ok(Self::Docker),
                Err(reason) => tried.push(reason),
            }
        }
        if let Some(path) = installed(env::var_os("MONGOD"), env::var_os("PATH").as_deref()) {
            return Ok(Self::Native { path, libraries: None });
        }
        tried.push("MONGOD names no file and PATH holds no mongod".to_owned());
        match provision::provision().await {
            Ok(program) => Ok(program),
            Err(error) => {
                tried.push(error.to_string());
                Err(MongodError::NotFound { tried: tried.join("; ") })
            }
        }
    }

    /// What it is, in words for a banner.
    pub(super) fn origin(&self) -> String {
        match self {
            Self::Docker => format!("Docker image {}", docker::IMAGE),
            Self::Native { path, .. } => path.display().to_string(),
        }
    }

    /// `host:port` under which the mongod finds itself.
    pub(super) fn member_host(&self, port: u16) -> String {
        match self {
            Self::Docker => format!("localhost:{}", docker::PORT),
            Self::Native { .. } => format!("127.0.0.1:{port}"),
        }
    }

    /// The command line for a mongod with its data in `data` and listening on `port`.
    pub(super) fn launch(&self, settings: &MongodBuilder, data: &Path, port: u16) -> Launch {
        let launch = match self {
            Self::Docker => docker::launch(settings, port),
            Self::Native { path, libraries } => {
                native(path, libraries.as_deref(), settings, data, port)
            }
        };
        info!(mongod.origin = self.origin(), mongod.port = port, "starting mongod");
        launch
    }
}

/// The flags that hold wherever the mongod runs: small, quick, and quick to end.
pub(super) fn common_args(settings: &MongodBuilder) -> Vec<OsString> {
    let mut args: Vec<OsString> = ["--wiredTigerCacheSizeGB", "0.25"].map(Into::into).into();
    args.extend(
        ["--wiredTigerEngineConfigString", "log=(file_max=10MB,prealloc=false)"].map(Into::into),
    );
    for parameter in [
        "diagnosticDataCollectionEnabled=false",
        // Otherwise a member of a set lingers for 15 s after it was asked to end.
        "shutdownTimeoutMillisForSignaledShutdown=100",
    ] {
        args.extend(["--setParameter", parameter].map(Into::into));
    }
    for (name, value) in &settings.parameters {
        args.extend(["--setParameter".into(), format!("{name}={value}").into()]);
    }
    if settings.topology != Topology::Standalone {
        args.extend(["--replSet".into(), REPLICA_SET.into()]);
        args.extend(["--oplogSize".into(), settings.oplog_mb.to_string().into()]);
    }
    args.extend(settings.args.iter().cloned());
    args
}

fn native(
    path: &Path,
    libraries: Option<&Path>,
    settings: &MongodBuilder,
    data: &Path,
    port: u16,
) -> Launch {
    let mut args: Vec<OsString> = vec!["--dbpath".into(), data.into()];
    args.extend(["--port".into(), port.to_string().into()]);
    args.extend(["--bind_ip", "127.0.0.1", "--nounixsocket"].map(Into::into));
    args.extend(common_args(settings));
    Launch {
        program: path.to_owned(),
        args,
        environment: library_path(libraries),
        container: None,
        remove: None,
    }
}

/// The environment in which the machine's loader finds `libraries` as well.
pub(super) fn library_path(libraries: Option<&Path>) -> Vec<(&'static str, OsString)> {
    libraries.map(|folder| ("LD_LIBRARY_PATH", folder.as_os_str().to_owned())).into_iter().collect()
}

fn installed(named: Option<OsString>, path: Option<&OsStr>) -> Option<PathBuf> {
    let named = named.filter(|name| !name.is_empty()).map(PathBuf::from);
    named.filter(|file| file.is_file()).or_else(|| on_path(FILE_NAME, path?))
}

fn on_path(file: &str, path: &OsStr) -> Option<PathBuf> {
    env::split_paths(path).map(|folder| folder.join(file)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_flag(settings: &MongodBuilder, flag: &str, expected: Option<&str>) {
        let args = common_args(settings);
        let at = args.iter().position(|arg| arg == flag);
        assert_eq!(at.and_then(|at| args[at + 1].to_str()), expected, "{flag} in {args:?}");
    }

    #[test]
    fn the_topology_decides_the_replica_set_flags() {
        let single = MongodBuilder::default().oplog_mb(990);
        check_flag(&single, "--replSet", Some(REPLICA_SET));
        check_flag(&single, "--oplogSize", Some("990"));
        check_flag(&MongodBuilder::default().topology(Topology::Standalone), "--replSet", None);
        check_flag(
            &MongodBuilder::default().topology(Topology::Member),
            "--replSet",
            Some(REPLICA_SET),
        );
    }

    #[test]
    fn a_native_mongod_listens_on_loopback_only() {
        let program = Program::Native { path: "m".into(), libraries: Some("lib".into()) };
        let launch = program.launch(&MongodBuilder::default(), Path::new("data"), 4711);
        let line = launch.args.join(OsStr::new(" ")).into_string().unwrap();
        assert!(line.starts_with("--dbpath data --port 4711 --bind_ip 127.0.0.1 "), "{line}");
        assert_eq!(launch.environment, [("LD_LIBRARY_PATH", "lib".into())]);
    }

    #[test]
    fn a_named_mongod_that_is_no_file_does_not_hide_the_one_on_path() {
        let here = env::current_exe().unwrap();
        let folder = here.parent().unwrap().as_os_str();
        assert_eq!(installed(Some("/does/not/exist".into()), Some(folder)), None);
        assert_eq!(installed(Some(here.clone().into()), None), Some(here));
        assert_eq!(installed(None, None), None);
    }
}
