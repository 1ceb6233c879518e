//! Diagnostics: errors and warnings of a provider.

use std::fmt;

use crate::path::{Path, Step};
use crate::rpc::messages::{self, Selector};

/// The severity of a diagnostic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The call failed.
    Error,
    /// The call succeeded.
    Warning,
}

/// An error or a warning of a provider. Its text is the provider's, which may contain values of the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// Its severity.
    pub severity: Severity,
    /// One line.
    pub summary: String,
    /// More; may be empty.
    pub detail: String,
    /// The attribute that it is about, if it is about one.
    pub path: Option<Path>,
}

impl Diagnostic {
    /// Whether it is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    pub(crate) fn error(summary: &str, detail: String) -> Self {
        Self { severity: Severity::Error, summary: summary.to_owned(), detail, path: None }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{path}: ")?;
        }
        f.write_str(&self.summary)?;
        // Some providers repeat the summary as the detail.
        if self.detail.is_empty() || self.detail == self.summary {
            Ok(())
        } else {
            write!(f, ": {}", self.detail)
        }
    }
}

impl From<messages::Diagnostic> for Diagnostic {
    fn from(wire: messages::Diagnostic) -> Self {
        // A severity of a later version is an error: a failure must not be taken for a success.
        let severity = if wire.severity == 2 { Severity::Warning } else { Severity::Error };
        let path = wire.attribute.map(Path::from).filter(|path| !path.is_root());
        Self { severity, summary: wire.summary, detail: wire.detail, path }
    }
}

impl From<messages::AttributePath> for Path {
    fn from(wire: messages::AttributePath) -> Self {
        let steps = wire.steps.into_iter().filter_map(|step| {
            Some(match step.selector? {
                Selector::Attribute(name) => Step::Attribute(name),
                Selector::Key(key) => Step::Key(key),
                Selector::Index(index) => Step::Index(usize::try_from(index).ok()?),
            })
        });
        steps.collect()
    }
}

/// The errors, as one text.
pub(crate) struct Errors<'a>(pub(crate) &'a [Diagnostic]);

impl fmt::Display for Errors<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, diagnostic) in self.0.iter().filter(|diagnostic| diagnostic.is_error()).enumerate() {
            if position > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{diagnostic}")?;
        }
        Ok(())
    }
}
