//! "Did you mean …" for a word that is not in a list.

/// `; did you mean X`, or nothing: ready to be appended to a reason.
pub(super) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    let near = known.into_iter().map(|candidate| (distance(word, candidate), candidate));
    let near = near.filter(|(distance, _)| *distance <= allowed).min();
    near.map_or_else(String::new, |(_, near)| format!("; did you mean `{near}`"))
}

/// Edits between the two words, blind to case and to `eventtypes` versus `event_types`.
fn distance(word: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(&plain(word), &plain(candidate))
}

fn plain(word: &str) -> String {
    // A longer word than any known one is never near; cutting bounds the quadratic comparison.
    word.chars().take(64).filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect()
}
