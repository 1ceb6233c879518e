//! What is found, and how it is printed. Pure.

use serde_json::{Value, json};

use crate::print::{Color, Lines, Style, count};

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// An apply is rejected, or the resource can never be ready.
    Error,
    /// The resource is not ready before another object is edited.
    Warning,
    /// It depends on what is in the cluster.
    Note,
}

/// One problem, and where it is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// The index of the file.
    pub(super) source: usize,
    pub(super) line: usize,
    pub(super) level: Level,
    /// `KIND/NAME`; empty if the text is no object.
    pub(super) object: String,
    /// The path of the field; empty for the whole object.
    pub(super) field: String,
    pub(super) message: String,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }

    fn color(self) -> Option<Color> {
        match self {
            Self::Error => Some(Color::Red),
            Self::Warning => Some(Color::Yellow),
            Self::Note => None,
        }
    }
}

impl Finding {
    /// The object, the field and the message in one line.
    fn text(&self) -> String {
        let parts = [self.object.as_str(), self.field.as_str()];
        let place: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let colon = if place.is_empty() { "" } else { ": " };
        format!("{}{colon}{}", place.join(" "), self.message)
    }
}

/// `FILE:LINE: error: KIND/NAME field: message`, as editors and other tools read it, and a line with the numbers.
pub(super) fn text(findings: &[Finding], sources: &[String], objects: usize, style: Style) -> String {
    let mut lines = Lines::default();
    for finding in findings {
        let place = sources.get(finding.source).map_or("", String::as_str);
        let word = style.paint(finding.level.word(), finding.level.color());
        let text = crate::print::clean(&finding.text());
        lines.rendered(&format!("{}:{}: {word}: {text}\n", crate::print::clean(place), finding.line));
    }
    let of = |level: Level| findings.iter().filter(|finding| finding.level == level).count();
    let numbers = [(Level::Error, "error"), (Level::Warning, "warning"), (Level::Note, "note")];
    let found: Vec<_> = numbers
        .into_iter()
        .filter(|(level, _)| of(*level) > 0)
        .map(|(level, noun)| count(of(level), noun))
        .collect();
    let found = if found.is_empty() { "no problems".to_owned() } else { found.join(", ") };
    lines.line(format!("{}: {found}.", count(objects, "object")));
    lines.finish()
}

/// The same for programs.
pub(super) fn json(findings: &[Finding], sources: &[String]) -> Value {
    let each = |finding: &Finding| {
        json!({
            "file": sources.get(finding.source), "line": finding.line, "level": finding.level.word(),
            "object": finding.object, "field": finding.field, "message": finding.message,
        })
    };
    findings.iter().map(each).collect()
}
