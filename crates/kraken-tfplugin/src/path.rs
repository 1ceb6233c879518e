//! Paths to values inside objects, as plugins name them in diagnostics and plans.

use std::fmt;

/// One step from a value to a value inside it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// An attribute or a block of an object.
    Attribute(String),
    /// A key of a map.
    Key(String),
    /// An index of a list. Elements of sets have none: a path ends at the set.
    Index(usize),
}

/// A path from the root of an object; empty for the object itself.
///
/// Displayed as in configurations: `network[0].uuid`, `tags["team"]`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(Vec<Step>);

impl Path {
    /// Its steps.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The path with one more step.
    #[must_use]
    pub fn with(&self, step: Step) -> Self {
        let mut steps = self.0.clone();
        steps.push(step);
        Self(steps)
    }

    /// Whether `other` is this path or inside it.
    pub fn contains(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }

    pub(crate) fn push(&mut self, step: Step) {
        self.0.push(step);
    }

    pub(crate) fn pop(&mut self) {
        self.0.pop();
    }
}

impl FromIterator<Step> for Path {
    fn from_iter<T: IntoIterator<Item = Step>>(steps: T) -> Self {
        Self(steps.into_iter().collect())
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, step) in self.0.iter().enumerate() {
            match step {
                Step::Attribute(name) if position == 0 => f.write_str(name)?,
                Step::Attribute(name) => write!(f, ".{name}")?,
                Step::Key(key) => write!(f, "[{key:?}]")?,
                Step::Index(index) => write!(f, "[{index}]")?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_displayed_as_in_a_configuration() {
        let attribute = |name: &str| Step::Attribute(name.to_owned());
        let path: Path = [attribute("network"), Step::Index(0), attribute("uuid")].into_iter().collect();
        assert_eq!(path.to_string(), "network[0].uuid");
        let path: Path = [attribute("tags"), Step::Key("a\"b".to_owned())].into_iter().collect();
        assert_eq!(path.to_string(), r#"tags["a\"b"]"#);
        assert_eq!(Path::default().to_string(), "");
    }
}
