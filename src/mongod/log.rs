//! What a mongod said, and the end of it for an error message.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

use super::MongodError;

/// As much of a log's end as is looked at.
const TAIL_BYTES: u64 = 16 * 1024;

/// As much of one line as goes into a message.
const LINE_CHARS: usize = 400;

/// A log longer than this is started anew.
const KEPT_BYTES: u64 = 4 * 1024 * 1024;

/// A mongod's log file. It stays readable after the file was removed along with the data.
#[derive(Debug)]
pub(super) struct Log {
    file: File,
    path: PathBuf,
    /// Where this mongod's own lines begin.
    start: u64,
}

impl Log {
    /// Opens for appending: the mongod that holds this folder, if there is one, goes on writing.
    pub(super) fn open(path: &Path) -> Result<Self, MongodError> {
        let open = || {
            let file = File::options().create(true).append(true).read(true).open(path)?;
            let length = file.metadata()?.len();
            if length <= KEPT_BYTES {
                return Ok((file, length));
            }
            file.set_len(0).map(|()| (file, 0))
        };
        let (file, start) = open().map_err(|source| io_error("open", path, source))?;
        Ok(Self { file, path: path.to_owned(), start })
    }

    /// A handle for the mongod to write to.
    pub(super) fn writer(&self) -> Result<File, MongodError> {
        self.file.try_clone().map_err(|source| io_error("open", &self.path, source))
    }

    /// The end of this mongod's own lines, at most [`TAIL_BYTES`]; what cannot be read says so.
    pub(super) fn tail(&mut self) -> String {
        self.read_tail().unwrap_or_else(|error| format!("(read {}: {error})", self.path.display()))
    }

    fn read_tail(&mut self) -> io::Result<String> {
        let length = self.file.metadata()?.len();
        self.file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES).max(self.start)))?;
        let mut bytes = Vec::new();
        Read::by_ref(&mut self.file).take(TAIL_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

fn io_error(verb: &str, path: &Path, source: io::Error) -> MongodError {
    MongodError::Io { doing: format!("{verb} {}", path.display()), source }
}

/// The lines of a mongod log that say why it ended: errors and fatal ones, else the last line.
pub(super) fn reason(tail: &str) -> String {
    let grave = |line: &&str| line.contains(r#""s":"E""#) || line.contains(r#""s":"F""#);
    match tail.lines().find(grave) {
        Some(line) => shorten(line),
        None => last_line(tail.as_bytes()),
    }
}

/// The last line that says something.
pub(super) fn last_line(output: &[u8]) -> String {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty());
    line.map_or_else(|| "it said nothing".to_owned(), shorten)
}

fn shorten(line: &str) -> String {
    line.chars().take(LINE_CHARS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(tail: &str, expected: &str) {
        assert_eq!(reason(tail), expected);
    }

    #[test]
    fn the_reason_is_the_first_grave_line_else_the_last() {
        check("", "it said nothing");
        check("a\nb\n\n", "b");
        check(
            "{\"s\":\"I\"}\n{\"s\":\"E\",\"n\":1}\n{\"s\":\"F\"}\n{\"s\":\"I\"}",
            "{\"s\":\"E\",\"n\":1}",
        );
    }

    #[test]
    fn a_long_line_is_cut() {
        assert_eq!(reason(&"é".repeat(1000)).chars().count(), LINE_CHARS);
    }
}
