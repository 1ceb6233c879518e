//! The scripted failures of calls.

use std::collections::VecDeque;

use kraken_simulator::{FailureMode, FailurePoint};

/// One failure.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) when: FailurePoint,
    pub(super) how: FailureMode,
}

#[derive(Debug)]
struct Entry {
    action: String,
    fault: Fault,
    /// `None`: for all further calls.
    left: Option<u32>,
}

/// The pending failures, oldest first.
#[derive(Debug, Default)]
pub(super) struct Script(VecDeque<Entry>);

impl Script {
    pub(super) fn push(&mut self, action: &str, fault: Fault, left: Option<u32>) {
        self.0.push_back(Entry { action: action.to_owned(), fault, left });
    }

    /// Removes and returns the next failure for a call of `action`, if there is one.
    pub(super) fn take(&mut self, action: &str) -> Option<Fault> {
        let index = self.0.iter().position(|entry| entry.action == action || entry.action == "*")?;
        let entry = self.0.get_mut(index)?;
        let fault = entry.fault.clone();
        if let Some(left) = &mut entry.left {
            *left -= 1;
            if *left == 0 {
                self.0.remove(index);
            }
        }
        Some(fault)
    }

    pub(super) fn pending(&self) -> usize {
        self.0.iter().filter(|entry| entry.left.is_some()).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(how: FailureMode) -> Fault {
        Fault { when: FailurePoint::Before, how }
    }

    #[test]
    fn failures_are_used_once_and_in_order() {
        let mut script = Script::default();
        script.push("A", fault(FailureMode::Drop), Some(1));
        script.push("A", fault(FailureMode::throttled()), Some(1));
        assert_eq!(script.take("B"), None);
        assert_eq!(script.take("A"), Some(fault(FailureMode::Drop)));
        assert_eq!(script.pending(), 1);
        assert_eq!(script.take("A"), Some(fault(FailureMode::throttled())));
        assert_eq!(script.take("A"), None);
    }

    #[test]
    fn a_permanent_failure_of_any_action_is_kept() {
        let mut script = Script::default();
        script.push("*", fault(FailureMode::Drop), None);
        assert!(script.take("A").is_some() && script.take("B").is_some());
        assert_eq!(script.pending(), 0);
    }
}
