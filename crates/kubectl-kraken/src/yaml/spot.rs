//! Where values are in a text of YAML, and where it is none. Pure.

use std::{fmt, ops::Range};

use granit_parser::ScalarStyle;

/// Where a value is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Spot {
    /// The line of the key of the value, or of the item of a list, from 1.
    pub(crate) line: usize,
    /// The bytes of the value in the text, with its quotes.
    pub(crate) bytes: Range<usize>,
    /// How a scalar is written; `None` for others.
    pub(crate) style: Option<ScalarStyle>,
    pub(super) inner: Inner,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Inner {
    Leaf,
    Map(Vec<(String, Spot)>),
    List(Vec<Spot>),
}

/// A text that is no YAML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl fmt::Display for Failed {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "line {}: {}", self.line, self.message)
    }
}

impl Spot {
    /// The value at a path as conditions and kube-apiserver write it, `spec.tags["Team"]` or `spec.ports[0].value`, or the nearest value
    /// around it.
    pub(crate) fn nearest(&self, path: &str) -> &Spot {
        self.step(path).map_or(self, |(next, rest)| next.nearest(rest))
    }

    /// The value at exactly this path.
    pub(crate) fn at(&self, path: &str) -> Option<&Spot> {
        if path.is_empty() {
            return Some(self);
        }
        let (next, rest) = self.step(path)?;
        next.at(rest)
    }

    /// The fields of a map in their order.
    pub(crate) fn fields(&self) -> &[(String, Spot)] {
        match &self.inner {
            Inner::Map(fields) => fields,
            _ => &[],
        }
    }

    /// The items of a list.
    pub(crate) fn items(&self) -> &[Spot] {
        match &self.inner {
            Inner::List(items) => items,
            _ => &[],
        }
    }

    fn step<'p>(&self, path: &'p str) -> Option<(&Spot, &'p str)> {
        let path = path.strip_prefix('.').unwrap_or(path);
        match &self.inner {
            Inner::Leaf => None,
            Inner::List(items) => {
                let (index, rest) = path.strip_prefix('[')?.split_once(']')?;
                Some((items.get(index.parse::<usize>().ok()?)?, rest))
            }
            Inner::Map(fields) => {
                let rest_of = |name: &str| {
                    let quoted = format!("[{name:?}]");
                    path.strip_prefix(quoted.as_str()).or_else(|| {
                        path.strip_prefix(name)
                            .filter(|rest| rest.is_empty() || rest.starts_with('.') || rest.starts_with('['))
                    })
                };
                // A key may contain dots: the longest one that fits.
                let fitting = fields.iter().filter_map(|(name, spot)| Some((name, spot, rest_of(name)?)));
                let (_, spot, rest) = fitting.max_by_key(|(name, ..)| name.len())?;
                Some((spot, rest))
            }
        }
    }
}
