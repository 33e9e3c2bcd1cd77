//! How the name in `{"$var": "options.sort[0]"}` finds its value.

use bson::{Bson, Document};

/// Looks a variable up: a top-level key equal to the whole name, dots included, wins; otherwise the
/// name is a path of `.name`, `[0]` and `['name']` steps. Arrays are entered only by `[n]`.
/// A blank or malformed name finds nothing; consecutive and leading dots are skipped.
pub(crate) fn lookup<'a>(document: &'a Document, name: &str) -> Option<&'a Bson> {
    if name.trim().is_empty() {
        return None;
    }
    document.get(name).or_else(|| follow(document, &steps(name)?))
}

/// One step of a variable's or notification's path.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Name(String),
    Index(usize),
}

fn follow<'a>(document: &'a Document, steps: &[Step]) -> Option<&'a Bson> {
    let (first, rest) = steps.split_first()?;
    let Step::Name(name) = first else { return None };
    rest.iter().try_fold(document.get(name)?, |value, step| match (value, step) {
        (Bson::Document(document), Step::Name(name)) => document.get(name),
        (Bson::Array(array), Step::Index(index)) => array.get(*index),
        _ => None,
    })
}

/// Splits a path into steps; `None` when it is malformed.
pub(crate) fn steps(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = match rest.as_bytes()[0] {
            b'.' => &rest[1..],
            b'[' => bracket(&rest[1..], &mut steps)?,
            _ => plain(rest, &mut steps)?,
        };
    }
    Some(steps)
}

/// Reads up to the next dot or bracket.
fn plain<'a>(rest: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let (name, rest) = rest.split_at(rest.find(['.', '[']).unwrap_or(rest.len()));
    steps.push(Step::Name(name.to_owned()));
    (!name.contains(']')).then_some(rest)
}

/// Reads `0]`, `'name']` or `"name"]`.
fn bracket<'a>(rest: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let first = rest.chars().next()?;
    if first != '\'' && first != '"' {
        let (index, rest) = rest.split_once(']')?;
        let digits = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
        steps.push(Step::Index(digits.then(|| index.parse().ok())??));
        return Some(rest);
    }
    let (name, rest) = rest[1..].split_once(&format!("{first}]"))?;
    steps.push(Step::Name(name.to_owned()));
    Some(rest)
}

#[cfg(test)]
mod tests {
    use bson::doc;

    use super::*;

    #[test]
    fn names_find_their_values() {
        let document = doc! {
            "n": 1,
            "options": {"name": "x", "sort": [{"by": "a"}, "b"], "dotted.key": 2},
            "options.name": "literal",
            "null": null,
            "list": [[7]],
        };
        for (name, expected) in [
            ("n", Some(Bson::Int32(1))),
            ("options.name", Some("literal".into())),
            ("options['name']", Some("x".into())),
            ("options[\"name\"]", Some("x".into())),
            ("options.sort[0].by", Some("a".into())),
            ("options.sort[1]", Some("b".into())),
            ("options['dotted.key']", Some(Bson::Int32(2))),
            ("['n']", Some(Bson::Int32(1))),
            ("list[0][0]", Some(Bson::Int32(7))),
            ("..options..sort[1]", Some("b".into())),
            ("null", Some(Bson::Null)),
            ("null.x", None),
            ("n.x", None),
            ("options.sort.by", None),
            ("options.sort.0", None),
            ("options.sort[2]", None),
            ("options.sort[-1]", None),
            ("options.sort[+1]", None),
            ("options.sort[99999999999999999999]", None),
            ("options.sort[0", None),
            ("options.sort[]", None),
            ("options['name", None),
            ("options[é]", None),
            ("options.name]", None),
            ("[0]", None),
            ("missing", None),
            ("N", None),
            ("", None),
            ("  ", None),
            (".", None),
        ] {
            assert_eq!(lookup(&document, name), expected.as_ref(), "{name}");
        }
    }
}
