//! The process: arguments, logging, a runtime, a command.

use std::{io::IsTerminal, process::ExitCode};

use clap::Parser;
use tailwater::cli::{self, Cli};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    let cli = Cli::parse();
    start_logging();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(cli::run(cli));
            // What still runs has been told to end and had its time.
            runtime.shutdown_timeout(std::time::Duration::from_millis(200));
            code
        }
        Err(error) => {
            tracing::error!(%error, "the runtime cannot be started");
            ExitCode::FAILURE
        }
    }
}

/// Lines on standard error; `RUST_LOG` chooses, colours only on a terminal.
fn start_logging() {
    let filter =
        EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn,tailwater=info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}
