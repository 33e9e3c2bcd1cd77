//! Real client programs, run as child processes and read line by line.

use std::{
    env,
    io::Write,
    path::{Path, PathBuf},
    process::{ExitStatus, Stdio},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::timeout,
};

use super::{PATIENCE, eventually, listens, unused_port};

/// With this set to 1 a missing program fails the test that needs it.
const REQUIRE_VARIABLE: &str = "TAILWATER_REQUIRE_TOOLS";

/// Names the folder below which `.ci/run` installs programs that no package holds.
const TOOLS_VARIABLE: &str = "TAILWATER_TOOLS";

/// A program of this machine that a test needs.
#[derive(Debug, Clone)]
pub(crate) struct Tool {
    path: PathBuf,
}

impl Tool {
    /// The program of that name on `PATH` or among the tools.
    pub(crate) fn find(name: &str) -> Option<Self> {
        let path = env::var_os("PATH").unwrap_or_default();
        // Servers are kept where not everybody's path leads.
        let more = [tools().map(|tools| tools.join("bin")), Some("/usr/sbin".into())];
        let folders = env::split_paths(&path).chain(more.into_iter().flatten());
        folders
            .map(|folder| folder.join(name))
            .find(|file| file.is_file())
            .map(|path| Self { path })
    }

    /// The same, and without it a line that says so: the test then returns early.
    pub(crate) fn require(name: &str) -> Option<Self> {
        Self::find(name).or_else(|| skip(name))
    }

    /// Python with modules that `.ci/run` installs among the tools; without them, as
    /// [`Tool::require`].
    pub(crate) fn python(modules: &str) -> Option<(Self, PathBuf)> {
        let packages = tools().unwrap_or_default().join("python");
        let there = modules.split(", ").all(|module| packages.join(module).is_dir());
        if there { Some((Self::require("python3")?, packages)) } else { skip(modules) }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts the program with these arguments.
    pub(crate) fn run<'a>(&self, args: impl IntoIterator<Item = &'a str>) -> Program {
        let mut command = Command::new(&self.path);
        command.args(args).kill_on_drop(true).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().unwrap()).lines();
        Program { child, input, output }
    }
}

/// Says that `name` is missing; fails where nothing may be.
pub(crate) fn skip<T>(name: &str) -> Option<T> {
    let strict = env::var(REQUIRE_VARIABLE).is_ok_and(|value| value == "1");
    assert!(!strict, "{name} not found, and {REQUIRE_VARIABLE}=1 forbids to skip");
    // Not `println!`: the harness would keep that to itself when the test passes.
    std::io::stderr().write_all(format!("skipped: {name} not found\n").as_bytes()).unwrap();
    None
}

fn tools() -> Option<PathBuf> {
    let named = env::var_os(TOOLS_VARIABLE).map(PathBuf::from);
    named.or_else(|| Some(env::home_dir()?.join(".cache/tailwater/tools")))
}

/// A running program; killed when dropped.
#[derive(Debug)]
pub(crate) struct Program {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Program {
    /// `curl -N`: prints what arrives at once, and nothing of its own but errors.
    pub(crate) fn curl<'a>(curl: &Tool, url: &'a str, more: &[&'a str]) -> Self {
        let args = ["--no-buffer", "--silent", "--show-error"].into_iter();
        curl.run(args.chain(more.iter().copied()).chain([url]))
    }

    /// `websocat`: a line for each text message of up to 1 MiB, and a message for each line.
    pub(crate) fn websocat<'a>(websocat: &Tool, url: &'a str, more: &[&'a str]) -> Self {
        // A message longer than its buffer, of 64 KiB unless told, comes out in pieces.
        websocat.run(
            ["--text", "--buffer-size=1048576"]
                .into_iter()
                .chain(more.iter().copied())
                .chain([url]),
        )
    }

    /// The next line; `None` when the program has ended its output.
    pub(crate) async fn line(&mut self) -> Option<String> {
        let line = timeout(PATIENCE, self.output.next_line()).await;
        line.unwrap_or_else(|_| panic!("no line within {PATIENCE:?}")).unwrap()
    }

    /// The lines up to the next empty one: a block of server-sent events, or a response head.
    pub(crate) async fn block(&mut self) -> Vec<String> {
        let mut block = Vec::new();
        while let Some(line) = self.line().await {
            let line = line.trim_end_matches('\r');
            match (line.is_empty(), block.is_empty()) {
                (true, false) => break,
                (true, true) => {}
                (false, _) => block.push(line.to_owned()),
            }
        }
        block
    }

    /// Writes a line to the program's input.
    pub(crate) async fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(format!("{line}\n").as_bytes()).await.unwrap();
    }

    /// Closes the program's input and waits for its end; output that is left is thrown away.
    pub(crate) async fn finish(mut self) -> ExitStatus {
        self.input = None;
        while self.line().await.is_some() {}
        timeout(PATIENCE, self.child.wait()).await.unwrap().unwrap()
    }

    /// Kills the program, as a user's machine does that loses power: the kernel closes its sockets.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }
}

/// A WebSocket server that sends each message back: websocat itself. Gives its URL.
pub(crate) async fn mirror(websocat: &Tool) -> (String, Program) {
    let port = unused_port();
    let listen = format!("ws-l:127.0.0.1:{port}");
    let options = ["--text", "--exit-on-eof", "--buffer-size=1048576"];
    let server = websocat.run(options.into_iter().chain([listen.as_str(), "mirror:"]));
    eventually("the mirror listens", async || listens(port).await).await;
    (format!("ws://127.0.0.1:{port}"), server)
}

#[cfg(test)]
mod tests {
    use tokio::{io::AsyncReadExt, net::TcpListener};

    use super::*;

    const HEAD: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

    /// Answers one request with `body` and keeps the connection open until the peer leaves.
    async fn serve_once(body: &'static str) -> (String, tokio::task::JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let server = tokio::spawn(async move {
            let (mut socket, _) = listener.accept().await.unwrap();
            socket.write_all(format!("{HEAD}{body}").as_bytes()).await.unwrap();
            let mut rest = Vec::new();
            // A killed curl may reset the connection: either way it has left.
            drop(socket.read_to_end(&mut rest).await);
        });
        (url, server)
    }

    #[tokio::test]
    async fn curl_prints_blocks_while_the_response_goes_on() {
        let Some(curl) = Tool::require("curl") else { return };
        let (url, server) = serve_once("id: 1\ndata: a\n\n\ndata: b\n\n").await;
        let mut stream = Program::curl(&curl, &url, &["--include"]);
        assert_eq!(stream.block().await, ["HTTP/1.1 200 OK", "content-type: text/event-stream"]);
        assert_eq!(stream.block().await, ["id: 1", "data: a"]);
        assert_eq!(stream.block().await, ["data: b"]);
        stream.kill().await;
        server.await.unwrap();
    }

    #[tokio::test]
    async fn websocat_sends_and_prints_messages() {
        let Some(websocat) = Tool::require("websocat") else { return };
        let (url, _server) = mirror(&websocat).await;
        let mut client = Program::websocat(&websocat, &url, &[]);
        let long = "x".repeat(200_000);
        for message in ["hello", &long] {
            client.send(message).await;
            assert_eq!(client.line().await.as_deref(), Some(message));
        }
        assert!(client.finish().await.success());
    }

    #[test]
    fn a_tool_that_is_not_there_is_none() {
        assert!(Tool::find("no-such-program-anywhere").is_none());
        assert!(Tool::find("sh").is_some_and(|sh| sh.path().is_file()));
    }
}
