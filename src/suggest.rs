//! "Did you mean …" for a word that is not in a list.

/// The listed word nearest to `word`, when it is near enough to be a slip of the pen.
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let allowed = (word.chars().count() / 3).clamp(1, 3);
    known
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, _)| *distance <= allowed)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// `; did you mean X`, or nothing: ready to be appended to a reason.
pub(crate) fn hint<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> String {
    nearest(word, known).map_or_else(String::new, |near| format!("; did you mean `{near}`"))
}

/// Edits between the two words, blind to case and to `fullDocument` versus `full_document`.
fn distance(word: &str, candidate: &str) -> usize {
    strsim::damerau_levenshtein(&plain(word), &plain(candidate))
}

fn plain(word: &str) -> String {
    // A longer word than any known one is never near; cutting bounds the quadratic comparison.
    word.chars().take(64).filter(|c| *c != '_' && *c != '-').flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_recognised_and_strangers_are_not() {
        let known = ["full_document", "notify_when", "stages", "uri"];
        for (word, expected) in [
            ("fullDocument", Some("full_document")),
            ("notifyWhen", Some("notify_when")),
            ("notify-when", Some("notify_when")),
            ("stage", Some("stages")),
            ("url", Some("uri")),
            ("colour", None),
            ("", None),
        ] {
            assert_eq!(nearest(word, known), expected, "{word}");
        }
    }
}
