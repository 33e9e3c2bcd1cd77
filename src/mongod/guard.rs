//! A child process that cannot outlive its owner.

use std::{
    fs::File,
    io::Write,
    process::{Child, ChildStdin, Command, ExitStatus, Stdio},
    time::Duration,
};

use tokio::time::{Instant, sleep};

use super::{error::MongodError, program::Launch};

const SCRIPT: &str = include_str!("guard.sh");

/// Between two looks at a process that is starting or ending.
pub(super) const POLL: Duration = Duration::from_millis(20);

/// A signal that tests send to a mongod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// Ends it at once, as a crash would.
    Kill,
    /// Freezes it: connections stay open and nothing answers.
    Pause,
    /// Lets a frozen one go on.
    Resume,
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Kill => "KILL",
            Self::Pause => "STOP",
            Self::Resume => "CONT",
        }
    }
}

/// The watcher script and, below it, the command. Held by a plain `std` child, because a test's
/// runtime may end before the process that it started.
#[derive(Debug)]
pub(super) struct Guard {
    watcher: Child,
    /// The leash: the script stops the command when this is closed.
    leash: Option<ChildStdin>,
}

impl Guard {
    /// Starts `launch` with its output in `log`.
    pub(super) fn start(launch: &Launch, log: File) -> Result<Self, MongodError> {
        let doing = || format!("start {} through sh", launch.program.display());
        let errors =
            log.try_clone().map_err(|source| MongodError::Io { doing: doing(), source })?;
        let mut watcher = command(launch)
            .stdout(log)
            .stderr(errors)
            .spawn()
            .map_err(|source| MongodError::Io { doing: doing(), source })?;
        let leash = watcher.stdin.take();
        Ok(Self { watcher, leash })
    }

    /// How the command ended, if it has.
    pub(super) fn ended(&mut self) -> Result<Option<ExitStatus>, MongodError> {
        let doing = || "look after mongod".to_owned();
        self.watcher.try_wait().map_err(|source| MongodError::Io { doing: doing(), source })
    }

    pub(super) fn signal(&mut self, signal: Signal) -> Result<(), MongodError> {
        let doing = || format!("send {} to mongod", signal.name());
        match &mut self.leash {
            Some(leash) => writeln!(leash, "{}", signal.name())
                .map_err(|source| MongodError::Io { doing: doing(), source }),
            None => Ok(()),
        }
    }

    /// Lets go of the leash: the script now ends the command.
    pub(super) fn release(&mut self) {
        self.leash = None;
    }

    /// Waits until command and script are gone.
    pub(super) async fn wait(&mut self, timeout: Duration) -> Result<(), MongodError> {
        let deadline = Instant::now() + timeout;
        while self.ended()?.is_none() {
            if Instant::now() > deadline {
                return Err(MongodError::StillRunning { seconds: timeout.as_secs() });
            }
            sleep(POLL).await;
        }
        Ok(())
    }
}

fn command(launch: &Launch) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", SCRIPT, "tailwater-guard"]).arg(&launch.program).args(&launch.args);
    command.envs(launch.environment.iter().map(|(name, value)| (name, value)));
    command.env("TAILWATER_LAST_SIGNAL", if launch.remove.is_some() { "KILL" } else { "TERM" });
    command.env("TAILWATER_CONTAINER", launch.container.as_deref().unwrap_or_default());
    command.env("TAILWATER_REMOVE", launch.remove.as_deref().unwrap_or("".as_ref()));
    command.stdin(Stdio::piped());
    // Ctrl-C in a terminal reaches a whole process group: the owner stops mongod in its own order.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command
}
