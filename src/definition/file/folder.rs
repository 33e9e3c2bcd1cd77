//! The files of a folder.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use super::note::{FileNote, Origin};
use super::{CollectionStreams, parse};

/// A file that is larger could not be stored as metadata anyway.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// Reads every `.yaml`, `.yml` and `.json` file in a folder, in the order of their names, or the
/// one file that `path` names. Folders inside the folder are not entered.
///
/// # Errors
/// Everything wrong in any file, or that there is none.
pub fn load(path: &Path) -> Result<Vec<CollectionStreams>, Vec<FileNote>> {
    let files = list(path).map_err(|note| vec![note])?;
    let texts: Vec<Result<String, FileNote>> = files.iter().map(|file| read(file)).collect();
    let unreadable: Vec<FileNote> =
        texts.iter().filter_map(|text| text.as_ref().err()).cloned().collect();
    let readable = files.iter().zip(&texts);
    let readable =
        readable.filter_map(|(file, text)| Some((file.as_path(), text.as_ref().ok()?.as_str())));
    match parse(readable) {
        Ok(collections) if unreadable.is_empty() => Ok(collections),
        Ok(_) => Err(unreadable),
        Err(errors) => Err(unreadable.into_iter().chain(errors).collect()),
    }
}

fn list(path: &Path) -> Result<Vec<PathBuf>, FileNote> {
    let cannot = |error: std::io::Error| note(path, format!("cannot be read: {error}"));
    if !fs::metadata(path).map_err(cannot)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries: Result<Vec<_>, _> =
        fs::read_dir(path).map_err(cannot)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut files: Vec<PathBuf> = entries.map_err(cannot)?;
    files.retain(|file| is_definition(file) && !file.is_dir());
    files.sort();
    if files.is_empty() {
        return Err(note(path, "holds no .yaml, .yml or .json file"));
    }
    Ok(files)
}

fn is_definition(file: &Path) -> bool {
    let extension = file.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| ["yaml", "yml", "json"].contains(&extension))
}

fn read(file: &Path) -> Result<String, FileNote> {
    let cannot = |error: std::io::Error| note(file, format!("cannot be read: {error}"));
    let mut text = String::new();
    let opened = fs::File::open(file).map_err(cannot)?;
    let bytes = opened.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(cannot)?;
    if bytes as u64 > MAX_FILE_BYTES {
        return Err(note(file, "is larger than 8 MiB; split it"));
    }
    Ok(text)
}

fn note(file: &Path, reason: impl Into<String>) -> FileNote {
    Origin::new(file, (0, 0)).note(reason)
}
