//! What the command line asks for. Exit codes: 0 success, 1 a failed check or a failure, 2 wrong usage.

mod administrator;
mod apply;
mod check;
mod definitions;
mod dev;
mod doctor;
mod entities;
mod explain;
mod export;
mod password;
mod serve;
mod service;
mod signals;
mod tail;
mod token;
mod writer;

use std::process::ExitCode;

use clap::{CommandFactory, Parser, Subcommand};

use crate::config::{CommonArgs, Config, ConfigError};

/// Watch MongoDB collections over server-sent events and WebSocket.
#[derive(Debug, Parser)]
#[command(name = "tailwater", version, about, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
    #[command(flatten)]
    common: CommonArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serve the streams that a MongoDB deployment declares
    Serve,
    /// Try it here: a MongoDB of its own, sample streams, a small writer
    Dev(dev::DevArgs),
    /// Validate configuration and definitions, offline
    Check(check::CheckArgs),
    /// Install the definitions of a folder into collection metadata
    Apply(apply::ApplyArgs),
    /// Examine a MongoDB deployment: what would not work, and what to do about it
    Doctor(doctor::DoctorArgs),
    /// Watch a stream of a running service, one event a line
    Tail(tail::TailArgs),
    /// Tell what a stream sends to MongoDB, decides in process and shows, for any user
    Explain(explain::ExplainArgs),
    /// Print a document that describes the service
    Export(export::ExportArgs),
    /// Sign a token that the configured key verifies
    Token(token::TokenArgs),
    /// Hash a password, read from standard input, for the collection of users
    HashPassword(password::PasswordArgs),
    /// Print completions for a shell
    Completions {
        /// Which shell
        shell: clap_complete::Shell,
    },
}

/// Runs the command that the arguments name.
pub async fn run(cli: Cli) -> ExitCode {
    let outcome = match cli.command {
        Command::Serve => serve::run(&cli.common).await,
        Command::Dev(args) => dev::run(&cli.common, &args).await,
        Command::Check(args) => check::run(&cli.common, &args),
        Command::Apply(args) => apply::run(&cli.common, &args).await,
        Command::Doctor(args) => doctor::run(&cli.common, &args).await,
        Command::Tail(args) => tail::run(&cli.common, &args).await,
        Command::Explain(args) => explain::run(&cli.common, &args).await,
        Command::Export(args) => export::run(&cli.common, &args).await,
        Command::Token(args) => token::run(&cli.common, &args),
        Command::HashPassword(args) => password::run(&args),
        Command::Completions { shell } => completions(shell),
    };
    outcome.unwrap_or_else(|error| {
        report(&format!("error: {error:#}"));
        match error.downcast_ref::<ConfigError>() {
            Some(_) => ExitCode::from(2),
            None => ExitCode::FAILURE,
        }
    })
}

fn completions(shell: clap_complete::Shell) -> anyhow::Result<ExitCode> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tailwater", &mut script);
    print(&String::from_utf8_lossy(&script));
    Ok(ExitCode::SUCCESS)
}

/// Flags, the process's environment and the file that they name.
fn load(common: &CommonArgs) -> Result<Config, ConfigError> {
    let config = Config::load(common, std::env::vars_os())?;
    config.warnings().iter().for_each(|warning| tracing::warn!("{warning}"));
    Ok(config)
}

/// Prints to standard output. A reader that went away is no failure of ours.
#[expect(clippy::print_stdout, reason = "the command line's own output")]
fn print(text: &str) {
    use std::io::Write;
    drop(std::io::stdout().write_all(text.as_bytes()));
    if !text.ends_with('\n') {
        println!();
    }
}

/// Prints a line for the operator to standard error, whatever the log level.
#[expect(clippy::print_stderr, reason = "the command line's own output")]
fn report(line: &str) {
    eprintln!("{line}");
}
