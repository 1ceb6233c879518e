//! Conditions as in upstream Kubernetes: a list keyed by type, in which a transition time changes only with the status.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};

/// True only if this generation of the spec is in place. kstatus, Argo CD and Flux read it.
pub const READY: &str = "Ready";
/// True if the last observation of the cloud succeeded and matched the spec.
pub const SYNCED: &str = "Synced";
/// True if every reference of the spec has a value.
pub const DEPENDENCIES_RESOLVED: &str = "DependenciesResolved";

/// True while a change of this resource is in progress; absent otherwise.
pub const RECONCILING: &str = "Reconciling";
/// True if an edit is required: kstatus, Flux and Argo CD report a failure at once. Absent otherwise.
pub const STALLED: &str = "Stalled";
/// True if the remote object differs and `lifecycle.drift` is `Report`; absent otherwise. Ready is not affected.
pub const DRIFTED: &str = "Drifted";
/// True if a look-up found a newer answer than the one that it publishes and keeps; absent otherwise. Ready is not affected.
pub const UPDATE_AVAILABLE: &str = "UpdateAvailable";

/// The maximum length of a message, in bytes. The API allows 32,768, too long to be read.
const MAX_MESSAGE: usize = 2048;

/// The status of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The condition is true.
    True,
    /// The condition is false.
    False,
    /// The status is not known yet.
    Unknown,
}

impl State {
    /// The value in the Kubernetes API.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// Sets one condition in a list. The transition time changes only with the status.
pub fn set(
    conditions: &mut Vec<Condition>,
    kind: &str,
    state: State,
    reason: &str,
    message: &str,
    generation: Option<i64>,
    now: Timestamp,
) {
    let status = state.as_str();
    let last_transition_time = conditions
        .iter()
        .find(|c| c.type_ == kind && c.status == status)
        .map_or(Time(now), |c| c.last_transition_time.clone());
    let condition = Condition {
        type_: kind.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: bounded(message),
        observed_generation: generation,
        last_transition_time,
    };
    match conditions.iter_mut().find(|c| c.type_ == kind) {
        Some(slot) => *slot = condition,
        None => conditions.push(condition),
    }
}

/// Sets an abnormal-true condition, which is absent unless it is true: `held` is its reason and message.
pub fn set_while(
    conditions: &mut Vec<Condition>,
    kind: &str,
    held: Option<(&str, &str)>,
    generation: Option<i64>,
    now: Timestamp,
) {
    match held {
        Some((reason, message)) => set(conditions, kind, State::True, reason, message, generation, now),
        None => conditions.retain(|condition| condition.type_ != kind),
    }
}

/// The condition of this type, if it exists.
pub fn get<'a>(conditions: &'a [Condition], kind: &str) -> Option<&'a Condition> {
    conditions.iter().find(|c| c.type_ == kind)
}

fn bounded(message: &str) -> String {
    if message.len() <= MAX_MESSAGE {
        return message.to_owned();
    }
    let mut end = MAX_MESSAGE;
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &message[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn the_transition_time_changes_only_with_the_status() {
        let mut list = vec![];
        set(&mut list, READY, State::False, "Creating", "a", Some(1), at(1));
        set(&mut list, READY, State::False, "Updating", "b", Some(2), at(2));
        assert_eq!(get(&list, READY).unwrap().last_transition_time, Time(at(1)));
        assert_eq!(get(&list, READY).unwrap().reason, "Updating");
        set(&mut list, READY, State::True, "Available", "c", Some(2), at(3));
        assert_eq!(get(&list, READY).unwrap().last_transition_time, Time(at(3)));
        assert_eq!(list.len(), 1);
    }

    #[test]
    fn an_abnormal_true_condition_is_removed_when_it_is_no_longer_true() {
        let mut list = vec![];
        set_while(&mut list, STALLED, Some(("InvalidSpec", "a")), Some(1), at(1));
        assert_eq!(get(&list, STALLED).unwrap().status, "True");
        set_while(&mut list, STALLED, None, Some(1), at(2));
        assert!(list.is_empty());
    }

    #[test]
    fn a_long_message_is_truncated_at_a_character_boundary() {
        let mut list = vec![];
        set(&mut list, READY, State::False, "X", &"ü".repeat(5000), None, at(1));
        assert!(list[0].message.len() <= MAX_MESSAGE + 3);
    }
}
