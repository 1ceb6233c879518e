//! A plan as text, Markdown or JSON. Pure.

use serde_json::{Value, json};

use super::entry::{Action, Entry};
use crate::print::{Lines, Style, clean};

/// For a person: each object with a sign, its effects below each other, then the counts.
pub(super) fn text(entries: &[Entry], notes: &[String], style: Style) -> String {
    let mut text = Lines::default();
    let listed: Vec<_> = entries.iter().filter(|entry| entry.is_listed()).collect();
    for entry in &listed {
        let head = clean(&format!("{} {}", entry.action.sign(), named(entry, entries)));
        text.rendered(&format!("{}\n", style.paint(&head, entry.action.color())));
        for line in entry.lines.iter().chain(&entry.because) {
            text.line(format!("    {line}"));
        }
    }
    if !listed.is_empty() {
        text.line("");
    }
    for note in notes {
        text.line(note);
    }
    text.line(summary(entries));
    text.finish()
}

/// For a comment of a pull request.
pub(super) fn markdown(entries: &[Entry], notes: &[String]) -> String {
    // Nothing of a name or a message is markup.
    let plain = |text: &str| clean(text).replace('|', "\\|").replace('`', "'");
    let mut text = Lines::default();
    text.line(format!("**{}**", plain(&summary(entries))));
    let listed: Vec<_> = entries.iter().filter(|entry| entry.is_listed()).collect();
    if !listed.is_empty() {
        text.line("");
        text.line("| | Object | What happens |");
        text.line("|---|---|---|");
    }
    for entry in listed {
        // As code, so that a link or a mention in a value is none.
        let lines: Vec<_> =
            entry.lines.iter().chain(&entry.because).map(|line| format!("`{}`", plain(line))).collect();
        let object = plain(&named(entry, entries));
        text.line(format!("| `{}` | `{object}` | {} |", entry.action.sign(), lines.join("<br>")));
    }
    for note in notes {
        text.line("");
        text.line(plain(note));
    }
    text.finish()
}

/// The object of an entry, with its namespace if the plan has several.
fn named(entry: &Entry, all: &[Entry]) -> String {
    let Entry { node, .. } = entry;
    let is_same = all.iter().all(|other| other.node.namespace == node.namespace);
    if is_same { node.to_string() } else { format!("{node} in namespace {}", node.namespace) }
}

/// For programs.
pub(super) fn json(entries: &[Entry], notes: &[String]) -> Value {
    let count = |action: Action| entries.iter().filter(|entry| entry.action == action).count();
    let counts: serde_json::Map<_, _> =
        Action::LISTED.iter().map(|(action, ..)| (format!("{action:?}"), json!(count(*action)))).collect();
    json!({
        "entries": entries.iter().map(Entry::json).collect::<Vec<_>>(),
        "counts": counts, "notes": notes,
    })
}

/// `Plan: 1 to create, 2 to change; 3 unchanged.`
fn summary(entries: &[Entry]) -> String {
    let count = |action: Action| entries.iter().filter(|entry| entry.action == action).count();
    let parts: Vec<_> = Action::LISTED
        .iter()
        .filter(|(action, ..)| count(*action) > 0)
        .map(|(action, _, words)| format!("{} {words}", count(*action)))
        .collect();
    let kept = entries.iter().filter(|entry| entry.action == Action::None && entry.is_listed()).count();
    let kept = if kept == 0 { String::new() } else { format!(", of which {kept} with a kept difference") };
    let unchanged = format!("{} unchanged{kept}", count(Action::None));
    if parts.is_empty() {
        return format!("Nothing changes: {unchanged}.");
    }
    format!("Plan: {}; {unchanged}.", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::fixtures::node;

    #[test]
    fn objects_of_several_namespaces_are_named_with_them() {
        let mut other = node("VPC", "main");
        other.namespace = "other".to_owned();
        let create = |node| Entry::new(node, Action::Create, vec![]);
        let both = [create(node("VPC", "main")), create(other)];
        let printed = text(&both, &[], PLAIN);
        assert!(
            printed.starts_with("+ VPC/main in namespace shop\n+ VPC/main in namespace other\n"),
            "{printed}"
        );
        assert!(text(&both[..1], &[], PLAIN).starts_with("+ VPC/main\n"));
    }

    fn entries() -> Vec<Entry> {
        let vpc = Entry::new(
            node("VPC", "main"),
            Action::Replace,
            vec!["replaces vpc-1 (DeleteFirst): cidrBlock a -> b|c".to_owned()],
        );
        let mut subnet =
            Entry::new(node("Subnet", "a"), Action::Blocked, vec!["cannot change subnet-1\u{1b}".to_owned()]);
        subnet.because = vec!["because VPC/main is replaced".to_owned()];
        vec![vpc, subnet, Entry::new(node("Subnet", "b"), Action::None, vec![])]
    }

    const PLAIN: Style = Style { has_color: false, is_terminal: false, width: None };

    #[test]
    fn a_plan_is_a_list_with_signs_and_counts() {
        let expected = "± VPC/main\n    replaces vpc-1 (DeleteFirst): cidrBlock a -> b|c\nx Subnet/a\n    cannot change subnet-1\u{fffd}\n    \
                        because VPC/main is replaced\n\nPlan: 1 to replace, 1 not possible; 1 unchanged.\n";
        assert_eq!(text(&entries(), &[], PLAIN), expected);
        assert_eq!(text(&[], &[], PLAIN), "Nothing changes: 0 unchanged.\n");
    }

    #[test]
    fn a_kept_difference_is_listed_and_does_not_count_as_a_change() {
        let kept =
            "keeps what differs in vpc-1, because lifecycle.drift is Report: tags.A eve -> 1".to_owned();
        let entries = [
            Entry::new(node("VPC", "main"), Action::None, vec![kept]),
            Entry::new(node("Subnet", "a"), Action::None, vec![]),
        ];
        let expected = "  VPC/main\n    keeps what differs in vpc-1, because lifecycle.drift is Report: tags.A eve -> 1\n\n\
                        Nothing changes: 2 unchanged, of which 1 with a kept difference.\n";
        assert_eq!(text(&entries, &[], PLAIN), expected);
    }

    #[test]
    fn nothing_in_a_comment_is_markup() {
        let markdown = markdown(&entries(), &[]);
        assert!(
            markdown.contains("| `±` | `VPC/main` | `replaces vpc-1 (DeleteFirst): cidrBlock a -> b\\|c` |"),
            "{markdown}"
        );
    }

    #[test]
    fn programs_get_the_same() {
        let json = json(&entries(), &[]);
        assert_eq!(
            (&json["counts"]["Replace"], &json["entries"][1]["action"]),
            (&json!(1), &json!("Blocked"))
        );
    }
}
