/// One setting: its name in the file, how its value is written, what it is when nobody sets it.
///
/// The tables of `keys` are the only list of settings: the environment's names, the refusal of
/// unknown keys, `check`, the example file and the table in `docs/configuration.md` all come from
/// them.
#[derive(Debug)]
pub(crate) struct Key {
    /// Dotted path in the file.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) default: Option<&'static str>,
    /// Whether `null` is a value: it takes the default away.
    pub(crate) nullable: bool,
    pub(crate) flag: Option<&'static str>,
    /// A second name in the environment.
    pub(crate) short: Option<&'static str>,
    /// A value to show where there is no default.
    pub(crate) example: Option<&'static str>,
    pub(crate) doc: &'static str,
}

/// How a value is written, with its bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `address:port`.
    Address,
    Text,
    /// A text that is never shown.
    Secret,
    Path,
    Flag,
    /// Bounds in milliseconds. Where `off` is allowed, `off`, `false` and `0` mean none.
    Duration {
        min: u64,
        max: u64,
        off: bool,
    },
    /// At least this many bytes.
    Size {
        min: u64,
    },
    Count {
        min: u64,
        max: u64,
        off: bool,
    },
    Choice(&'static [&'static str]),
    List,
    Mounts,
    /// A section that `true` and `false` switch.
    Switch,
}

impl Key {
    pub(crate) const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Self {
            name,
            kind,
            default: None,
            nullable: false,
            flag: None,
            short: None,
            example: None,
            doc,
        }
    }

    pub(crate) const fn default(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }

    pub(crate) const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }

    pub(crate) const fn flag(mut self, flag: &'static str) -> Self {
        self.flag = Some(flag);
        self
    }

    pub(crate) const fn short(mut self, short: &'static str) -> Self {
        self.short = Some(short);
        self
    }

    pub(crate) const fn example(mut self, example: &'static str) -> Self {
        self.example = Some(example);
        self
    }

    /// `streams.history.events` is `TAILWATER_STREAMS__HISTORY__EVENTS`.
    pub(crate) fn variable(&self) -> String {
        variable(self.name)
    }
}

/// The environment's name of a dotted path.
pub(crate) fn variable(path: &str) -> String {
    format!("TAILWATER_{}", path.replace('.', "__").to_ascii_uppercase())
}

/// `a.b` for `a.b.c`, nothing for `a`.
pub(crate) fn parent(path: &str) -> &str {
    path.rsplit_once('.').map_or("", |(parent, _)| parent)
}

/// `c` for `a.b.c`.
pub(crate) fn leaf(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(_, leaf)| leaf)
}
