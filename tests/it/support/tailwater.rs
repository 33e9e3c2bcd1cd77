//! The program itself, run as an operator runs it.

use std::{
    fs,
    path::PathBuf,
    process::{Output, Stdio},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncRead, BufReader, Lines},
    process::{Child, ChildStderr, ChildStdout, Command},
    time::timeout,
};

use super::PATIENCE;

/// A folder that is removed at the end of the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new() -> Self {
        let path =
            std::env::temp_dir().join(format!("tailwater-cli-{:016x}", rand::random::<u64>()));
        fs::create_dir(&path).unwrap();
        Self(path)
    }

    /// Writes a file and gives the folder.
    pub(crate) fn with(self, name: &str, text: &str) -> Self {
        fs::write(self.0.join(name), text).unwrap();
        self
    }

    pub(crate) fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

/// The program, without the settings of this process.
fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
    let ours = std::env::vars().map(|(name, _)| name).filter(|name| name.starts_with("TAILWATER_"));
    for name in ours {
        command.env_remove(name);
    }
    command.args(args).stdin(Stdio::null()).kill_on_drop(true);
    command
}

/// Runs the program to its end: exit code, standard output, standard error.
pub(crate) async fn run(args: &[&str]) -> (i32, String, String) {
    let output: Output =
        timeout(PATIENCE, command(args).output()).await.expect("an end in time").unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

/// A program that runs until it is told to end.
pub(crate) struct Running {
    child: Child,
    pub(crate) stdout: Lines<BufReader<ChildStdout>>,
    pub(crate) stderr: Lines<BufReader<ChildStderr>>,
}

impl Running {
    pub(crate) fn start(args: &[&str], environment: &[(&str, &str)]) -> Self {
        let mut command = command(args);
        command.envs(environment.iter().copied()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap()).lines();
        let stderr = BufReader::new(child.stderr.take().unwrap()).lines();
        Self { child, stdout, stderr }
    }

    /// Sends a signal and waits for the end; gives the exit code.
    pub(crate) async fn end(mut self, signal: &str) -> Option<i32> {
        let pid = self.child.id().unwrap().to_string();
        assert!(Command::new("kill").args([signal, &pid]).status().await.unwrap().success());
        let ended = timeout(PATIENCE, self.child.wait()).await.expect("an end in time");
        ended.unwrap().code()
    }
}

/// The rest of the first line that holds `marker`.
pub(crate) async fn after<R: AsyncRead + Unpin>(
    lines: &mut Lines<BufReader<R>>,
    marker: &str,
) -> String {
    let mut seen = Vec::new();
    loop {
        let line = timeout(PATIENCE, lines.next_line()).await.expect("a line in time").unwrap();
        let line = line.unwrap_or_else(|| panic!("no {marker:?} in {seen:?}"));
        if let Some((_, rest)) = line.split_once(marker) {
            return rest.trim().to_owned();
        }
        seen.push(line);
    }
}
