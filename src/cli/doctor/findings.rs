//! What an examination found, told as it is found.

use std::process::ExitCode;

use crate::cli::print;

/// Counts what was found; each is printed at once.
#[derive(Debug, Default)]
pub(super) struct Findings {
    warnings: usize,
    failures: usize,
}

impl Findings {
    pub(super) fn fine(&mut self, text: &str) {
        print(&format!("ok    {text}"));
    }

    /// It works, and may surprise.
    pub(super) fn warn(&mut self, text: &str) {
        self.warnings += 1;
        print(&format!("warn  {text}"));
    }

    /// It does not work; `remedy` says what to do.
    pub(super) fn fail(&mut self, text: &str, remedy: &str) {
        self.failures += 1;
        print(&format!("fail  {text}; {remedy}"));
    }

    /// The last line, and the exit code.
    pub(super) fn conclude(&self) -> ExitCode {
        let Self { warnings, failures } = self;
        print(&format!("{failures} to mend, {warnings} to know"));
        if *failures == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
    }
}
