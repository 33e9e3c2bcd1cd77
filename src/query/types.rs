//! The argument of `$type`: a set of BSON types.

use bson::spec::ElementType;

/// One bit per type code; `MinKey` (-1) and `MaxKey` (127) take the two highest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TypeSet(u32);

const MIN_KEY: u32 = 30;
const MAX_KEY: u32 = 31;
const NUMBERS: u32 = 1 << 1 | 1 << 16 | 1 << 18 | 1 << 19;

/// The server's names, by code.
const NAMES: [(&str, u32); 21] = [
    ("double", 1),
    ("string", 2),
    ("object", 3),
    ("array", 4),
    ("binData", 5),
    ("undefined", 6),
    ("objectId", 7),
    ("bool", 8),
    ("date", 9),
    ("null", 10),
    ("regex", 11),
    ("dbPointer", 12),
    ("javascript", 13),
    ("symbol", 14),
    ("javascriptWithScope", 15),
    ("int", 16),
    ("timestamp", 17),
    ("long", 18),
    ("decimal", 19),
    ("minKey", MIN_KEY),
    ("maxKey", MAX_KEY),
];

impl TypeSet {
    pub(crate) const OBJECT: Self = Self(1 << 3);

    pub(crate) fn named(name: &str) -> Option<Self> {
        if name == "number" {
            return Some(Self(NUMBERS));
        }
        NAMES.iter().find(|(known, _)| *known == name).map(|(_, bit)| Self(1 << bit))
    }

    pub(crate) fn coded(code: i64) -> Option<Self> {
        match code {
            -1 => Some(Self(1 << MIN_KEY)),
            127 => Some(Self(1 << MAX_KEY)),
            1..=19 => Some(Self(1 << code)),
            _ => None,
        }
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn contains(self, kind: ElementType) -> bool {
        let bit = match kind {
            ElementType::MinKey => MIN_KEY,
            ElementType::MaxKey => MAX_KEY,
            kind => u32::from(kind as u8),
        };
        self.0 & (1_u32.checked_shl(bit).unwrap_or(0)) != 0
    }
}
