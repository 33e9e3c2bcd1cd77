use super::error::PredicateProblem as Problem;

/// `/orders/{id}/*`: a path with names for its segments.
#[derive(Debug, Clone, PartialEq)]
pub(in crate::access) struct PathTemplate {
    /// What a path must start with; all of it for [`Form::Exact`].
    base: String,
    form: Form,
}

#[derive(Debug, Clone, PartialEq)]
enum Form {
    /// No braces: the path itself, trailing slash included.
    Exact,
    /// A star without braces: any path that starts with the base.
    Prefix,
    /// After the base, segment by segment.
    Segments { segments: Vec<Segment>, rest: bool, trailing_slash: bool },
}

#[derive(Debug, Clone, PartialEq)]
enum Segment {
    Literal(String),
    Named(String),
}

/// What the names stand for in one path.
pub(in crate::access) type Captures<'a> = Vec<(&'a str, &'a str)>;

impl PathTemplate {
    pub(in crate::access) fn parse(text: &str) -> Result<Self, Problem> {
        let path = if text.starts_with('/') { text.to_owned() } else { format!("/{text}") };
        let refuse = |why| Problem::Template(text.to_owned(), why);
        let Some(brace) = path.find(['{', '}']) else {
            return Ok(match path.find('*') {
                Some(star) => Self { base: path[..star].to_owned(), form: Form::Prefix },
                None => Self { base: path, form: Form::Exact },
            });
        };
        let (base, segments) = path.split_at(path[..brace].rfind('/').unwrap_or(0) + 1);
        if base.contains('*') {
            return Err(refuse("a star may only end it"));
        }
        let form = segments_of(segments).map_err(refuse)?;
        Ok(Self { base: base.to_owned(), form })
    }

    /// The captures, if the path fits.
    pub(in crate::access) fn captures<'a>(&'a self, path: &'a str) -> Option<Captures<'a>> {
        let path = path.split('?').next().unwrap_or(path);
        let rest = path.strip_prefix(self.base.as_str())?;
        match &self.form {
            Form::Exact => rest.is_empty().then(Vec::new),
            Form::Prefix => Some(vec![("*", rest)]),
            Form::Segments { segments, rest: star, trailing_slash } => {
                by_segment(segments, *star, *trailing_slash, rest)
            }
        }
    }
}

fn segments_of(text: &str) -> Result<Form, &'static str> {
    let mut parts: Vec<&str> = text.split('/').collect();
    let trailing_slash = parts.last() == Some(&"");
    let rest = parts.last() == Some(&"*");
    if trailing_slash || rest {
        parts.pop();
    }
    let segments = parts.into_iter().map(segment).collect::<Result<_, _>>()?;
    Ok(Form::Segments { segments, rest, trailing_slash })
}

fn segment(part: &str) -> Result<Segment, &'static str> {
    let name = part.strip_prefix('{').and_then(|part| part.strip_suffix('}'));
    match name {
        Some(name) if !name.is_empty() && !name.contains(['{', '}']) => {
            Ok(Segment::Named(name.to_owned()))
        }
        None if !part.contains(['{', '}']) => Ok(Segment::Literal(part.to_owned())),
        _ => Err("a name in braces must be a whole segment"),
    }
}

fn by_segment<'a>(
    segments: &'a [Segment],
    star: bool,
    trailing_slash: bool,
    path: &'a str,
) -> Option<Captures<'a>> {
    let mut left = Some(path);
    let mut captures = Vec::new();
    for segment in segments {
        let current = left?;
        let (value, after) = match current.split_once('/') {
            Some((value, after)) => (value, Some(after)),
            None => (current, None),
        };
        match segment {
            Segment::Named(name) => captures.push((name.as_str(), value)),
            Segment::Literal(literal) if literal == value => {}
            Segment::Literal(_) => return None,
        }
        left = after;
    }
    match (star, left) {
        (true, Some(rest)) => captures.push(("*", rest)),
        (true, None) => return None,
        // One trailing slash is let pass, and required by a template that ends in one.
        (false, Some("")) => {}
        (false, None) if !trailing_slash => {}
        (false, _) => return None,
    }
    Some(captures)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(template: &str, path: &str, expected: Option<&[(&str, &str)]>) {
        let template = PathTemplate::parse(template).unwrap();
        assert_eq!(template.captures(path).as_deref(), expected, "{template:?} on {path}");
    }

    #[test]
    fn exact_and_prefix() {
        check("/a/b", "/a/b", Some(&[]));
        check("a/b", "/a/b", Some(&[]));
        check("/a/b", "/a/b/", None);
        check("/foo/*", "/foo/", Some(&[("*", "")]));
        check("/foo/*", "/foo", None);
        check("/foo*", "/foobar/x", Some(&[("*", "bar/x")]));
    }

    #[test]
    fn segments() {
        check("/{t}/*", "/a/", Some(&[("t", "a"), ("*", "")]));
        check("/{t}/*", "/a/b/c", Some(&[("t", "a"), ("*", "b/c")]));
        check("/{t}/*", "/a", None);
        check("/inbox/{u}", "/inbox/nora", Some(&[("u", "nora")]));
        check("/inbox/{u}", "/inbox/nora/", Some(&[("u", "nora")]));
        check("/inbox/{u}", "/inbox/nora/x", None);
        check("/inbox/{u}", "/inbox", None);
        check("/inbox/{u}", "/inbox/a%2Fb", Some(&[("u", "a%2Fb")]));
        check("/{a}/x/{b}", "/1/x/2", Some(&[("a", "1"), ("b", "2")]));
        check("/{a}/x/{b}", "/1/y/2", None);
        check("/{a}/", "/1/", Some(&[("a", "1")]));
        check("/{a}/", "/1", None);
        check("/{x}/b", "//b", Some(&[("x", "")]));
    }

    #[test]
    fn unusable() {
        for text in ["/{a}.json", "/{a", "/a}", "/{}", "/{a}{b}", "/a*/{b}"] {
            assert!(PathTemplate::parse(text).is_err(), "{text}");
        }
    }
}
