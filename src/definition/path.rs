//! Where in a declaration something stands, for error messages.

use std::fmt;

/// A path such as `streams[2].stages[0].$match.fullDocument.total`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPath(Vec<Segment>);

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// A field name, dots included.
    Key(String),
    /// A position in an array, from zero.
    Index(usize),
}

impl FieldPath {
    /// The steps from the outside in.
    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// The path seen from one level further out.
    #[must_use]
    pub(crate) fn inside(mut self, outer: impl Into<Segment>) -> Self {
        self.0.insert(0, outer.into());
        self
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl From<&str> for Segment {
    fn from(key: &str) -> Self {
        Segment::Key(key.to_owned())
    }
}

impl From<usize> for Segment {
    fn from(index: usize) -> Self {
        Segment::Index(index)
    }
}

/// An error that knows where it stands; the path grows while the error travels outwards.
pub(crate) trait Located {
    fn path_mut(&mut self) -> &mut FieldPath;
}

/// Notes on a failing result which field or element it came from.
pub(crate) trait At {
    #[must_use]
    fn at(self, outer: impl Into<Segment>) -> Self;
}

impl<T, E: Located> At for Result<T, E> {
    fn at(self, outer: impl Into<Segment>) -> Self {
        self.map_err(|mut error| {
            let path = std::mem::take(error.path_mut());
            *error.path_mut() = path.inside(outer);
            error
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_from_the_outside_in() {
        let path = FieldPath::default().inside("$match").inside(0).inside("stages").inside(2);
        assert_eq!(path.inside("streams").to_string(), "streams[2].stages[0].$match");
        assert_eq!(FieldPath::default().to_string(), "");
    }
}
