//! Problems of a spec: each with the path of its field, all reported together.

use std::fmt;

use crate::bounds::shorten;

/// The reason why a field has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Path of the field in the spec, for example `imageID.valueFrom.configMap.name`.
    pub field: String,
    /// The kind of the problem, which determines how it can be solved.
    pub kind: ProblemKind,
    /// The message. Never contains a value from a Secret.
    pub message: String,
}

/// The kind of a problem, which determines how it can be solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ProblemKind {
    /// A dependency must appear. All other kinds require an edit of the spec or of the source.
    Missing,
    /// The JSON type of another resource's value differs from the type of the field.
    Type,
    /// The text of a ConfigMap, a Secret or a template cannot be parsed to the type of the field.
    Parse,
    /// The path of a reference is malformed.
    Path,
    /// A template is malformed, or its result is too large.
    Template,
    /// A name is malformed, or a rule of the kind is violated.
    Invalid,
}

impl Problem {
    /// A rule that the field violates: only an edit can solve it.
    pub fn invalid(field: &str, message: impl Into<String>) -> Self {
        Self { field: field.to_owned(), kind: ProblemKind::Invalid, message: message.into() }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = if self.field.is_empty() { "" } else { "." };
        write!(f, "spec{dot}{}: {}", self.field, self.message)
    }
}

/// The approximate maximum length of a summary, in characters.
const MAX_SUMMARY: usize = 1000;
/// The maximum length of one problem in it, so that a long one leaves room for others.
const MAX_PROBLEM: usize = 400;

/// All problems in one line, for a condition's message: `a; b; c … and 7 more`, about 1,000 characters at most.
pub fn summary(problems: &[Problem]) -> String {
    let mut line = String::new();
    let mut length = 0;
    for (index, problem) in problems.iter().enumerate() {
        let next = shorten(&problem.to_string(), MAX_PROBLEM);
        length += next.chars().count() + 2;
        if length > MAX_SUMMARY {
            line.push_str(" … and ");
            line.push_str(&(problems.len() - index).to_string());
            line.push_str(" more");
            break;
        }
        if index > 0 {
            line.push_str("; ");
        }
        line.push_str(&next);
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(message: &str) -> Problem {
        Problem { field: "imageID".into(), kind: ProblemKind::Missing, message: message.into() }
    }

    #[test]
    fn a_problem_names_its_field() {
        let message = "ConfigMap sizes has no key \"small\"";
        assert_eq!(problem(message).to_string(), "spec.imageID: ConfigMap sizes has no key \"small\"");
        let whole = Problem { field: String::new(), ..problem("is odd") };
        assert_eq!(whole.to_string(), "spec: is odd");
    }

    #[test]
    fn a_summary_is_one_line_of_all_problems() {
        let problems = [problem("a\nb"), problem("c")];
        assert_eq!(summary(&problems), "spec.imageID: a b; spec.imageID: c");
        assert_eq!(summary(&[]), "");
    }

    #[test]
    fn a_long_summary_counts_the_rest() {
        let problems: Vec<_> = (0..100).map(|_| problem(&"x".repeat(86))).collect();
        let summary = summary(&problems);
        assert!(summary.ends_with(" … and 91 more"), "{summary}");
        assert!(summary.chars().count() < 1020);
    }

    #[test]
    fn one_long_problem_leaves_room_for_another() {
        let summary = summary(&[problem(&"ä".repeat(100_000)), problem("short")]);
        assert!(summary.ends_with("…; spec.imageID: short"));
        assert!(summary.chars().count() < 1000);
    }
}
