//! One object of a plan: what happens to it, and why. Pure.

use kraken_api::effect::Effect;
use serde_json::{Value, json};

use crate::{graph::Node, print::Color};

/// What happens to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Action {
    /// The request is rejected.
    Rejected,
    /// The edit is accepted, and cannot be made: it needs another edit first.
    Blocked,
    /// Remote objects are replaced.
    Replace,
    /// The resource is deleted.
    Delete,
    /// Remote objects are stopped and started.
    Stop,
    /// Remote objects are changed without an interruption, also their number.
    Change,
    /// The object is created.
    Create,
    /// The object is created, and takes over an existing remote object.
    Adopt,
    /// The edit has no effect in the cloud now.
    Edit,
    /// Nothing.
    None,
}

impl Action {
    /// Every action that a plan lists, with its sign and its word in the summary.
    pub(crate) const LISTED: [(Self, &'static str, &'static str); 9] = [
        (Self::Create, "+", "to create"),
        (Self::Adopt, "=", "to adopt"),
        (Self::Change, "~", "to change"),
        (Self::Edit, ".", "to edit without effect"),
        (Self::Stop, "!", "to stop"),
        (Self::Replace, "±", "to replace"),
        (Self::Delete, "-", "to delete"),
        (Self::Blocked, "x", "not possible"),
        (Self::Rejected, "x", "rejected"),
    ];

    /// The weightiest action of what admission announces.
    pub(crate) fn of(effects: &[String]) -> Option<Self> {
        let one = |effect: Effect| match effect {
            Effect::Replaces => Self::Replace,
            // The number of objects: the resource stays.
            Effect::Deletes | Effect::Changes | Effect::Corrects | Effect::Creates => Self::Change,
            Effect::Recreates => Self::Create,
            Effect::Adopts => Self::Adopt,
            Effect::Stops => Self::Stop,
            Effect::CannotChange | Effect::CannotAdopt | Effect::Waits => Self::Blocked,
            Effect::IsApplied | Effect::ChangesNothing | Effect::Keeps => Self::Edit,
        };
        effects.iter().filter_map(|effect| Effect::of(effect)).map(one).min()
    }

    /// The action of what admission announces about what exists in the cloud.
    pub(crate) fn of_observed(effects: &[String]) -> Option<Self> {
        let observed = effects.iter().filter(|line| Effect::of(line).is_some_and(Effect::is_observed));
        Self::of(&observed.cloned().collect::<Vec<_>>())
    }

    pub(crate) fn sign(self) -> &'static str {
        Self::LISTED.iter().find(|(action, ..)| *action == self).map_or(" ", |(_, sign, _)| sign)
    }

    pub(crate) fn color(self) -> Option<Color> {
        match self {
            Self::Create | Self::Adopt => Some(Color::Green),
            Self::Change | Self::Stop | Self::Replace => Some(Color::Yellow),
            Self::Delete | Self::Blocked | Self::Rejected => Some(Color::Red),
            Self::Edit | Self::None => None,
        }
    }

    /// Whether something happens.
    pub(crate) fn is_some(self) -> bool {
        self != Self::None
    }
}

/// One object.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Entry {
    pub(crate) node: Node,
    pub(crate) action: Action,
    /// The effects, or the message of a rejection.
    pub(crate) lines: Vec<String>,
    /// The changes elsewhere that are the cause, if the object itself is not edited.
    pub(crate) because: Vec<String>,
    /// A digest of the document and of what it edits; `None` if the object is not edited itself.
    pub(crate) edit: Option<String>,
}

impl Entry {
    pub(crate) fn new(node: Node, action: Action, lines: Vec<String>) -> Self {
        Self { node, action, lines, because: vec![], edit: None }
    }

    /// What follows takes the place of what was announced from the specs alone, and not of what exists in the cloud.
    pub(crate) fn follow(&mut self, following: Self) {
        let is_observed = |line: &String| Effect::of(line).is_some_and(Effect::is_observed);
        let observed = std::mem::take(&mut self.lines).into_iter().filter(is_observed);
        let Self { action, lines, because, .. } = following;
        self.lines = lines.into_iter().chain(observed).collect();
        self.action = Action::of_observed(&self.lines).map_or(action, |observed| observed.min(action));
        self.because = because;
    }

    /// Whether a person is shown it: something happens to it, or a difference in the cloud is kept.
    pub(crate) fn is_listed(&self) -> bool {
        self.action.is_some() || !self.lines.is_empty()
    }

    /// For programs.
    pub(crate) fn json(&self) -> Value {
        json!({
            "namespace": self.node.namespace, "group": self.node.group, "kind": self.node.kind, "name": self.node.name,
            "action": format!("{:?}", self.action), "effects": self.lines, "because": self.because, "edit": self.edit,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weightiest_effect_is_the_action() {
        let action = |effects: &[&str]| {
            Action::of(&effects.iter().map(|effect| (*effect).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(
            action(&["changes vpc-1 in place: a", "replaces vpc-1 (CreateFirst): b"]),
            Some(Action::Replace)
        );
        assert_eq!(action(&["cannot change vpc-1 in place", "stops and starts i-1"]), Some(Action::Blocked));
        assert_eq!(action(&["deletes 1 of 3 objects, the newest first: a"]), Some(Action::Change));
        assert_eq!(action(&["spec.a: has a problem"]), None);
    }
}
