//! Tailwater as a process of its own: for what its log says.

use std::{net::SocketAddr, process::Stdio};

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStderr, Command},
    time::timeout,
};

use super::PATIENCE;

/// A running `tailwater serve`; killed when dropped.
pub(crate) struct Service {
    child: Child,
    address: SocketAddr,
    log: Lines<BufReader<ChildStderr>>,
    lines: Vec<String>,
}

impl Service {
    /// Starts it on a free port and waits for its ready line.
    pub(crate) async fn start(uri: &str) -> Self {
        Self::with(uri, &[]).await
    }

    /// The same, with settings by the names of their variables.
    pub(crate) async fn with(uri: &str, settings: &[(&str, &str)]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tailwater"));
        command.args(["serve", "--insecure-no-auth", "--listen", "127.0.0.1:0"]);
        command.args(["--mongodb-uri", uri]).env_remove("RUST_LOG");
        command.envs(settings.iter().copied());
        command.stdin(Stdio::null()).stderr(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut lines = Vec::new();
        let address = loop {
            let line = timeout(PATIENCE, log.next_line()).await.expect("a ready line in time");
            let line = line.unwrap().unwrap_or_else(|| panic!("it ended: {lines:#?}"));
            let address = line.split("ready on http://").nth(1).map(|a| a.trim().parse().unwrap());
            lines.push(line);
            if let Some(address) = address {
                break address;
            }
        };
        Self { child, address, log, lines }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// The memory that it has in use, bytes.
    pub(crate) fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id().unwrap()));
        let status = status.unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
    }

    /// Tells it to end, waits until it has, and gives everything that it logged.
    pub(crate) async fn stop(mut self) -> Vec<String> {
        let pid = self.child.id().unwrap().to_string();
        let told = Command::new("kill").args(["-TERM", &pid]).status().await.unwrap();
        assert!(told.success());
        while let Some(line) = timeout(PATIENCE, self.log.next_line()).await.unwrap().unwrap() {
            self.lines.push(line);
        }
        assert!(self.child.wait().await.unwrap().success());
        self.lines
    }
}
