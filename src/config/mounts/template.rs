use super::is_reserved_database;

/// The `where` of a mount: a plain prefix, or a template like `/{tenant}/{*}`.
#[derive(Debug, Clone)]
pub(super) struct Pattern {
    segments: Vec<Segment>,
    template: bool,
    /// Whether anything may follow. Always so for a plain prefix.
    open: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Segment {
    Literal(String),
    Parameter(String),
}

/// The `what` of a mount. A plain one is followed by the rest of the path; a template by what `{*}`
/// took.
#[derive(Debug, Clone)]
pub(super) struct Target {
    segments: Vec<Vec<Part>>,
    open: bool,
}

#[derive(Debug, Clone)]
enum Part {
    Text(String),
    Parameter(String),
    Host,
    HostLabel(usize),
}

/// What a path bound.
#[derive(Debug)]
pub(super) struct Bound<'a> {
    parameters: Vec<(&'a str, &'a str)>,
    rest: Vec<&'a str>,
}

impl Pattern {
    pub(super) fn parse(at: &str) -> Result<Self, String> {
        let mut names = split(at, "where")?;
        let template = at.contains('{') || names.last() == Some(&"*");
        let rest = matches!(names.last(), Some(&("{*}" | "*")));
        if rest {
            names.pop();
        }
        let segments = names.into_iter().map(Segment::parse).collect::<Result<Vec<_>, _>>()?;
        match segments.first() {
            Some(Segment::Literal(first)) if first == "_" => {
                Err("has a where below /_, which is the service's own".into())
            }
            _ => Ok(Self { segments, template, open: rest || !template }),
        }
    }

    pub(super) fn matches<'a, S: AsRef<str>>(&'a self, path: &'a [S]) -> Option<Bound<'a>> {
        let (head, rest) = path.split_at_checked(self.segments.len())?;
        if !rest.is_empty() && !self.open {
            return None;
        }
        let mut parameters = Vec::new();
        for (segment, given) in self.segments.iter().zip(head) {
            match (segment, given.as_ref()) {
                (Segment::Literal(literal), given) if literal == given => {}
                (Segment::Parameter(name), given) if !given.is_empty() => {
                    parameters.push((name.as_str(), given));
                }
                _ => return None,
            }
        }
        Some(Bound { parameters, rest: rest.iter().map(AsRef::as_ref).collect() })
    }

    /// Sorts the more specific first: literals before parameters, longer before shorter, closed
    /// before open.
    pub(super) fn rank(&self) -> Vec<u8> {
        let kind = |segment: &Segment| u8::from(matches!(segment, Segment::Parameter(_)));
        let end = if self.open { 3 } else { 2 };
        self.segments.iter().map(kind).chain([end]).collect()
    }

    /// Whether both match the same paths.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let same = |(a, b): (&Segment, &Segment)| match (a, b) {
            (Segment::Literal(a), Segment::Literal(b)) => a == b,
            (Segment::Parameter(_), Segment::Parameter(_)) => true,
            _ => false,
        };
        self.open == other.open
            && self.segments.len() == other.segments.len()
            && self.segments.iter().zip(&other.segments).all(same)
    }

    pub(super) fn is_template(&self) -> bool {
        self.template
    }

    fn binds(&self, wanted: &str) -> bool {
        self.segments.iter().any(|it| matches!(it, Segment::Parameter(name) if name == wanted))
    }
}

impl Segment {
    fn parse(text: &str) -> Result<Self, String> {
        let Some(name) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) else {
            return match text.contains(['{', '}', '*']) {
                true => Err(format!("has `{text}` in its where; a parameter is a whole segment")),
                false => Ok(Self::Literal(text.to_owned())),
            };
        };
        let plain = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        match name {
            "host" => Err("cannot bind {host} in its where; it is the request's host".into()),
            name if plain => Ok(Self::Parameter(name.to_owned())),
            _ => Err(format!("has `{text}` in its where; a parameter is like {{tenant}}")),
        }
    }
}

impl Target {
    pub(super) fn parse(what: &str, pattern: &Pattern) -> Result<Self, String> {
        if what == "*" && !pattern.template {
            return Ok(Self { segments: Vec::new(), open: true });
        }
        let mut names = split(what, "what")?;
        let open = names.last() == Some(&"{*}");
        if open {
            names.pop();
        }
        Self::check(&names, open, pattern)?;
        let parse = |name: &&str| parts(name, pattern);
        let segments = names.iter().map(parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { segments, open: open || !pattern.template })
    }

    fn check(names: &[&str], open: bool, pattern: &Pattern) -> Result<(), String> {
        if pattern.template && open != pattern.open {
            return Err("must end in {*} both in what and in where, or in neither".into());
        }
        match names {
            [] if !pattern.template => Err("has what /; write \"*\" for all databases".into()),
            [database, ..] if is_reserved_database(database) => {
                Err(format!("has what /{database}, a database that MongoDB keeps for itself"))
            }
            [_, _, _, ..] => Err("has a what of more than /database/collection".into()),
            _ => Ok(()),
        }
    }

    /// The names that the target stands for, `None` where the host lacks what is needed.
    pub(super) fn fill(&self, bound: &Bound<'_>, host: Option<&str>) -> Option<Vec<String>> {
        let host = host.map(host_name);
        let mut names = Vec::with_capacity(self.segments.len() + bound.rest.len());
        for parts in &self.segments {
            let mut name = String::new();
            for part in parts {
                name.push_str(part.value(bound, host.as_deref())?);
            }
            names.push(name);
        }
        if self.open {
            names.extend(bound.rest.iter().map(|&segment| segment.to_owned()));
        }
        names.first().is_some_and(|name| !name.is_empty()).then_some(names)
    }
}

impl Part {
    fn value<'a>(&'a self, bound: &Bound<'a>, host: Option<&'a str>) -> Option<&'a str> {
        let value = match self {
            Self::Text(text) => text,
            Self::Parameter(wanted) => {
                bound.parameters.iter().find(|(name, _)| name == wanted).map(|(_, value)| *value)?
            }
            Self::Host => host?,
            Self::HostLabel(index) => host?.split('.').nth(*index)?,
        };
        // A name that swallowed a separator would reach another collection than the path shows.
        (!value.is_empty() && !value.contains(['/', '\0'])).then_some(value)
    }
}

fn parts(name: &str, pattern: &Pattern) -> Result<Vec<Part>, String> {
    let mut parts = Vec::new();
    let mut rest = name;
    while let Some((text, after)) = rest.split_once('{') {
        let (parameter, after) = after
            .split_once('}')
            .ok_or_else(|| format!("has `{name}` in its what, with a brace that never closes"))?;
        if !text.is_empty() {
            parts.push(Part::Text(text.to_owned()));
        }
        parts.push(part(parameter, pattern)?);
        rest = after;
    }
    if rest.contains(['}', '*']) {
        return Err(format!("has `{name}` in its what; a parameter is like {{tenant}}"));
    }
    if !rest.is_empty() {
        parts.push(Part::Text(rest.to_owned()));
    }
    Ok(parts)
}

fn part(parameter: &str, pattern: &Pattern) -> Result<Part, String> {
    if parameter == "host" {
        return Ok(Part::Host);
    }
    let label = parameter.strip_prefix("host[").and_then(|rest| rest.strip_suffix(']'));
    if let Some(index) = label {
        return index.parse().map(Part::HostLabel).map_err(|_| {
            format!("has {{{parameter}}} in its what; labels are counted {{host[0]}}, {{host[1]}}")
        });
    }
    match pattern.binds(parameter) {
        true => Ok(Part::Parameter(parameter.to_owned())),
        false => Err(format!("has {{{parameter}}} in its what, which its where does not bind")),
    }
}

/// The segments of a path that starts with a slash; one at the end makes no difference.
fn split<'a>(path: &'a str, field: &str) -> Result<Vec<&'a str>, String> {
    let Some(inner) = path.strip_prefix('/') else {
        return Err(format!("has {field} `{path}`; it starts with a slash"));
    };
    let inner = inner.strip_suffix('/').unwrap_or(inner);
    if inner.is_empty() {
        return Ok(Vec::new());
    }
    let segments: Vec<_> = inner.split('/').collect();
    if segments.iter().any(|segment| matches!(*segment, "" | "." | "..")) {
        return Err(format!("has {field} `{path}` with a segment that is empty or dots"));
    }
    Ok(segments)
}

/// The name within a `Host` header: in lower case, as hosts are the same in any, and without the
/// port.
fn host_name(host: &str) -> String {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|b| b.is_ascii_digit()) => name,
        _ => host,
    };
    name.trim_end_matches('.').to_ascii_lowercase()
}
