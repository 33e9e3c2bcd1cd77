//! Why a local mongod could not be had.

use std::{io, path::PathBuf};

/// Why a local mongod could not be found, started or stopped.
#[derive(Debug, thiserror::Error)]
pub enum MongodError {
    /// Every source was tried; each one's reason is in `tried`.
    #[error(
        "find or fetch a mongod ({tried}); start Docker, or name a mongod program in the \
         environment variable MONGOD"
    )]
    NotFound {
        /// One reason per source, in the order tried.
        tried: String,
    },
    /// A second mongod wants the same data.
    #[error(
        "open the data folder {path}: another mongod uses it; stop the other `tailwater dev` or \
         name another folder"
    )]
    DataInUse {
        /// The data folder.
        path: String,
    },
    /// The port that was asked for is taken.
    #[error("listen on port {port}: it is in use; stop its owner or choose another port")]
    PortInUse {
        /// The port on 127.0.0.1.
        port: u16,
    },
    /// The process ended before it was ready.
    #[error("start mongod: it ended with {status}: {log}")]
    Exited {
        /// Its exit status, or the signal that ended it.
        status: String,
        /// The last errors of its log.
        log: String,
    },
    /// The process runs, but did not become what was asked for.
    #[error("wait for mongod: not ready after {seconds} s: {last}; its log says: {log}")]
    NotReady {
        /// How long was waited.
        seconds: u64,
        /// What it answered last.
        last: String,
        /// The last errors of its log.
        log: String,
    },
    /// The process outlived its stop signal and the kill that follows it.
    #[error("stop mongod: it still runs after {seconds} s; end it by hand")]
    StillRunning {
        /// How long was waited.
        seconds: u64,
    },
    /// A file, folder or process could not be made.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with the path.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
}

/// Why a mongod could not be brought into the user's cache.
#[derive(Debug, thiserror::Error)]
pub enum ProvisionError {
    /// The pinned build is for other machines.
    #[error("the build that can be fetched needs Linux on x86-64")]
    Platform,
    /// MongoDB 5.0 and later need AVX.
    #[error("the build that can be fetched needs a processor with AVX")]
    Processor,
    /// No folder to keep it in.
    #[error("neither XDG_CACHE_HOME nor HOME names a folder to keep it in")]
    NoCache,
    /// `python3` or its `pip` is missing, or could not download.
    #[error("`python3 -m {module}` failed; install python3 with pip: {said}")]
    Python {
        /// `pip` or `zipfile`.
        module: &'static str,
        /// The end of what it said.
        said: String,
    },
    /// It is there, and does not run on this machine.
    #[error("{} does not run here, it needs glibc 2.31 and libcurl.so.4: {said}", .path.display())]
    DoesNotRun {
        /// The program.
        path: PathBuf,
        /// The end of what it said.
        said: String,
    },
    /// A file or folder could not be made.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done, with the path.
        doing: String,
        /// The system's answer.
        source: io::Error,
    },
}
