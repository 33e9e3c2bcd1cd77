//! The files of a folder.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use super::{Note, Origin};

/// A larger file is no declaration.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// A folder with more is another folder.
const MAX_FILES: usize = 1000;

/// The text of every `.yaml`, `.yml` and `.json` file in a folder, in the order of their names, or
/// of the one file that `path` names; and what cannot be read, or that there is nothing. Folders
/// inside the folder are not entered.
pub(crate) fn read(path: &Path) -> (Vec<(PathBuf, String)>, Vec<Note>) {
    let (mut texts, mut errors) = (Vec::new(), Vec::new());
    match list(path) {
        Ok(files) => {
            for file in files {
                match text(&file) {
                    Ok(text) => texts.push((file, text)),
                    Err(note) => errors.push(note),
                }
            }
        }
        Err(note) => errors.push(note),
    }
    (texts, errors)
}

fn list(path: &Path) -> Result<Vec<PathBuf>, Note> {
    let cannot = |error: std::io::Error| note(path, format!("cannot be read: {error}"));
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: Result<Vec<_>, _> =
        fs::read_dir(path).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files = entries.map_err(cannot)?;
    files.retain(|file| is_declaration(file) && !file.is_dir());
    files.sort();
    match files.len() {
        0 => Err(note(path, "holds no .yaml, .yml or .json file")),
        many if many > MAX_FILES => Err(note(path, format!("holds more than {MAX_FILES} files"))),
        _ => Ok(files),
    }
}

fn is_declaration(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    // Editors leave hidden files beside the ones that they edit.
    let hidden = file.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
    !hidden && extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}

fn text(file: &Path) -> Result<String, Note> {
    let cannot = |error: std::io::Error| note(file, format!("cannot be read: {error}"));
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(cannot)?;
    let bytes = opened.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
    if bytes as u64 > MAX_FILE_BYTES {
        return Err(note(file, "is larger than 8 MiB; split it"));
    }
    Ok(text)
}

fn note(file: &Path, reason: impl Into<String>) -> Note {
    Origin::new(file, (0, 0)).note(reason)
}
