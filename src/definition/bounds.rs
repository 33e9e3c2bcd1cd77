//! Bounds on nesting and size, checked once so that every later walk may recurse.

use bson::Bson;

/// How deep and how large a BSON value may be.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Levels of nesting; a scalar has none.
    pub(crate) depth: usize,
    /// Values in all, containers included.
    pub(crate) nodes: usize,
}

impl Bounds {
    /// A stream definition. MongoDB itself stops at 180 levels.
    pub(crate) const DEFINITION: Self = Self { depth: 100, nodes: 20_000 };
    /// What one client binds to its variables.
    pub(crate) const CLIENT: Self = Self { depth: 32, nodes: 4_096 };

    /// `Err` says which bound the value breaks.
    pub(crate) fn check(self, value: &Bson) -> Result<(), String> {
        let mut left = self.nodes;
        match walk(value, self.depth, &mut left) {
            Stop::None => Ok(()),
            Stop::Deep => Err(format!("nested deeper than {} levels; flatten it", self.depth)),
            Stop::Large => Err(format!("more than {} values; shorten it", self.nodes)),
        }
    }
}

#[derive(PartialEq)]
enum Stop {
    None,
    Deep,
    Large,
}

fn walk(value: &Bson, depth: usize, left: &mut usize) -> Stop {
    let Some(rest) = left.checked_sub(1) else { return Stop::Large };
    *left = rest;
    match value {
        Bson::Document(document) => walk_all(document.values(), depth, left),
        Bson::Array(array) => walk_all(array.iter(), depth, left),
        _ => Stop::None,
    }
}

fn walk_all<'a>(values: impl Iterator<Item = &'a Bson>, depth: usize, left: &mut usize) -> Stop {
    let Some(depth) = depth.checked_sub(1) else { return Stop::Deep };
    values
        .map(|value| walk(value, depth, left))
        .find(|stop| *stop != Stop::None)
        .unwrap_or(Stop::None)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nested(levels: usize) -> Bson {
        (0..levels).fold(Bson::Int32(1), |inner, _| Bson::Array(vec![inner]))
    }

    #[test]
    fn depth_and_size_are_bounded() {
        let bounds = Bounds { depth: 3, nodes: 10 };
        assert_eq!(bounds.check(&nested(3)), Ok(()));
        assert!(bounds.check(&nested(4)).unwrap_err().contains("deeper than 3"));
        assert_eq!(bounds.check(&Bson::Array(vec![Bson::Null; 9])), Ok(()));
        assert!(
            bounds.check(&Bson::Array(vec![Bson::Null; 10])).unwrap_err().contains("10 values")
        );
        assert_eq!(Bounds { depth: 0, nodes: 1 }.check(&Bson::Null), Ok(()));
    }
}
