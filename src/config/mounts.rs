//! Which database and collection a URL path stands for.

mod template;

use self::template::{Pattern, Target};
use super::origin::Origin;
use super::settings::Settings;
use super::tree::{Name, Node, Value};

/// A URL prefix (`where`) and the database or collection it stands for (`what`), as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    pub what: String,
    pub at: String,
}

/// All mounts, the most specific first.
#[derive(Debug, Clone)]
pub struct Mounts(Vec<Entry>);

/// What a path stands for. Names are as the path gave them: nobody has checked that they are
/// allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    pub database: String,
    pub collection: Option<String>,
    /// The path after the collection.
    pub rest: Vec<String>,
}

#[derive(Debug, Clone)]
struct Entry {
    mount: Mount,
    pattern: Pattern,
    target: Target,
}

const KEY: &str = "mounts";

impl Mounts {
    /// The namespace for the decoded segments of a path, `None` where no mount applies or no
    /// database is named. `host` is the request's `Host`, a port included or not.
    pub fn resolve<S: AsRef<str>>(&self, segments: &[S], host: Option<&str>) -> Option<Resolved> {
        let (entry, bound) = self
            .0
            .iter()
            .find_map(|entry| entry.pattern.matches(segments).map(|bound| (entry, bound)))?;
        let mut names = entry.target.fill(&bound, host)?.into_iter();
        Some(Resolved { database: names.next()?, collection: names.next(), rest: names.collect() })
    }

    /// One database, under its own name.
    pub fn of_database(name: &str) -> Self {
        let mount = Mount { what: format!("/{name}"), at: format!("/{name}") };
        Self(Entry::new(mount).into_iter().collect())
    }

    /// The segments of a path that leads to a collection. `None` where only templates lead there.
    pub fn path_of(&self, db: &str, coll: &str) -> Option<Vec<String>> {
        let paths = self.0.iter().filter_map(|Entry { mount, .. }| {
            let rest = match mount.what.trim_matches('/').split_once('/') {
                None if matches!(mount.what.as_str(), "*" | "/*") => vec![db, coll],
                None if mount.what.trim_matches('/') == db => vec![coll],
                Some(what) if what == (db, coll) => vec![],
                _ => return None,
            };
            let prefix = mount.at.split('/').filter(|segment| !segment.is_empty());
            Some(prefix.chain(rest).map(str::to_owned).collect::<Vec<_>>())
        });
        // Another mount may take the path, and a template is no path.
        let leads = |path: &Vec<String>| {
            let found = self.resolve(path, None);
            found.is_some_and(|found| {
                found.database == db
                    && found.collection.as_deref() == Some(coll)
                    && found.rest.is_empty()
            })
        };
        paths.filter(|path| path.iter().all(|segment| !segment.contains('{'))).find(leads)
    }

    pub fn iter(&self) -> impl Iterator<Item = &Mount> {
        self.0.iter().map(|entry| &entry.mount)
    }

    pub(crate) fn read(settings: &mut Settings) -> Self {
        let mut entries: Vec<Entry> = Vec::new();
        for (index, node) in settings.nodes(KEY).into_iter().enumerate() {
            let origin = at(settings.origin(KEY), &node);
            match entry(node.value).and_then(|entry| entry.beside(&entries)) {
                Ok(entry) => entries.push(entry),
                Err(reason) => settings.refuse(&format!("{KEY}[{index}]"), origin, reason),
            }
        }
        if entries.is_empty() && settings.is_set(KEY) {
            settings.refuse_set(KEY, "has no usable entry; without one nothing can be reached");
        }
        entries.sort_by_cached_key(|entry| entry.pattern.rank());
        Self(entries)
    }
}

impl Default for Mounts {
    fn default() -> Self {
        Self::read(&mut Settings::default())
    }
}

/// Databases that MongoDB keeps for itself. They can be neither mounted nor reached.
pub fn is_reserved_database(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    matches!(name.as_str(), "" | "admin" | "config" | "local" | "system")
        || name.starts_with("system.")
}

/// The place of an entry within a list of the file.
fn at(list: Origin, node: &Node) -> Origin {
    match list {
        Origin::File { path, .. } => {
            Origin::File { path, line: node.at.line, column: node.at.column }
        }
        other => other,
    }
}

fn entry(value: Value) -> Result<Entry, String> {
    let Value::Map(fields) = value else {
        return Err(r#"takes {what: "*", where: /} or {what: /db, where: /path}"#.into());
    };
    let (mut what, mut place) = (None, None);
    for (name, node) in fields {
        match (name.text.as_str(), node.value) {
            ("what", Value::Text(text)) => what = Some(text),
            ("where", Value::Text(text)) => place = Some(text),
            ("what" | "where", _) => return Err(format!("has a {} that is no text", name.text)),
            _ => return Err(unknown(&name)),
        }
    }
    let missing = |field| format!("has no {field}; it takes {{what: /db, where: /path}}");
    let mount = Mount { what: what.ok_or(missing("what"))?, at: place.ok_or(missing("where"))? };
    Entry::new(mount)
}

fn unknown(name: &Name) -> String {
    let distance = |known: &&str| strsim::damerau_levenshtein(known, &name.text);
    match ["what", "where"].into_iter().min_by_key(distance) {
        Some(known) if distance(&known) <= 2 => {
            format!("has an unknown key {}; did you mean {known}?", name.text)
        }
        _ => format!("has an unknown key {}; it takes what and where", name.text),
    }
}

impl Entry {
    fn new(mount: Mount) -> Result<Self, String> {
        let pattern = Pattern::parse(&mount.at)?;
        let target = Target::parse(&mount.what, &pattern)?;
        Ok(Self { mount, pattern, target })
    }

    /// The entry, when it can stand beside the others.
    fn beside(self, others: &[Self]) -> Result<Self, String> {
        if let Some(same) = others.iter().find(|other| other.pattern.is_same(&self.pattern)) {
            let (here, there) = (&self.mount.at, &same.mount.at);
            return Err(format!("has where {here}, which {there} takes already"));
        }
        if others.iter().any(|other| other.pattern.is_template() != self.pattern.is_template()) {
            let reason = "mixes plain paths and templates; use one kind for all mounts";
            return Err(reason.into());
        }
        Ok(self)
    }
}
