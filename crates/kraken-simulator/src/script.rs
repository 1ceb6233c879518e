//! Scripted failures: the proxy's faults, for a selected call.

use super::failure::{FailureMode, FailurePoint};

#[derive(Debug)]
struct Entry {
    action: String,
    /// How many calls pass before it.
    skip: usize,
    /// Whether it is for all calls after those.
    lasting: bool,
    when: FailurePoint,
    how: FailureMode,
}

/// The pending faults, oldest first.
#[derive(Debug, Default)]
pub(super) struct Script(Vec<Entry>);

impl Script {
    pub(super) fn push(
        &mut self,
        action: &str,
        skip: usize,
        lasting: bool,
        when: FailurePoint,
        how: FailureMode,
    ) {
        self.0.push(Entry { action: action.to_owned(), skip, lasting, when, how });
    }

    /// Counts a call, and removes and returns the fault for it, if there is one.
    pub(super) fn take(&mut self, action: &str) -> Option<(FailurePoint, FailureMode)> {
        let mut found = None;
        for (index, entry) in self.0.iter_mut().enumerate() {
            if entry.action != action && entry.action != "*" {
                continue;
            }
            if entry.skip > 0 {
                entry.skip -= 1;
            } else if found.is_none() {
                found = Some((index, entry.when, entry.how.clone()));
            }
        }
        let (index, when, how) = found?;
        if !self.0[index].lasting {
            self.0.remove(index);
        }
        Some((when, how))
    }

    pub(super) fn pending(&self) -> usize {
        self.0.iter().filter(|entry| !entry.lasting).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_fault_counts_the_calls_of_its_action() {
        let mut script = Script::default();
        script.push("A", 1, false, FailurePoint::Before, FailureMode::Drop);
        script.push("*", 0, false, FailurePoint::After, FailureMode::throttled());
        assert_eq!(script.take("A"), Some((FailurePoint::After, FailureMode::throttled())));
        assert_eq!(script.take("B"), None);
        assert_eq!(script.take("A"), Some((FailurePoint::Before, FailureMode::Drop)));
        assert_eq!((script.take("A"), script.pending()), (None, 0));
    }

    #[test]
    fn a_permanent_fault_is_kept() {
        let mut script = Script::default();
        script.push("A", 0, true, FailurePoint::Before, FailureMode::Drop);
        assert!(script.take("A").is_some() && script.take("A").is_some());
    }
}
