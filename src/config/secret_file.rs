use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::secret::Secret;

/// Longer files are refused: they are hardly the secret that was meant.
const LIMIT: u64 = 64 * 1024;

/// Reads a secret from its file, without the line break that editors leave at the end.
pub(crate) fn read_secret_file(path: &Path) -> Result<Secret, String> {
    let unreadable = |error| format!("is {}, which cannot be read: {error}", path.display());
    let mut text = String::new();
    let file = File::open(path).map_err(unreadable)?;
    file.take(LIMIT + 1).read_to_string(&mut text).map_err(unreadable)?;
    if text.len() as u64 > LIMIT {
        return Err(format!("is {}, which is larger than {LIMIT} bytes", path.display()));
    }
    let secret = text.strip_suffix('\n').map_or(text.as_str(), |t| t.trim_end_matches('\r'));
    if secret.trim().is_empty() {
        return Err(format!("is {}, which is empty", path.display()));
    }
    Ok(Secret::new(secret))
}
