//! Coverage of decisions and outcomes, for the deterministic simulation. It is counted only on threads that enabled it, so a
//! controller only checks a thread-local variable per reconcile.

use std::{cell::RefCell, collections::BTreeMap};

/// The number of times that each variant was reached, by area and variant.
pub type Reached = BTreeMap<(&'static str, &'static str), u64>;

thread_local! {
    static REACHED: RefCell<Option<Reached>> = const { RefCell::new(None) };
}

/// Records that a variant was reached.
pub fn note(area: &'static str, variant: &'static str) {
    REACHED.with_borrow_mut(|reached| {
        if let Some(reached) = reached {
            *reached.entry((area, variant)).or_default() += 1;
        }
    });
}

/// Starts counting on this thread, from zero.
pub fn begin() {
    REACHED.set(Some(Reached::new()));
}

/// The counts on this thread since [`begin`]; stops counting.
pub fn take() -> Reached {
    REACHED.take().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variants_reached_between_begin_and_take_are_counted() {
        note("area", "a");
        begin();
        note("area", "a");
        note("area", "a");
        note("area", "b");
        assert_eq!(take(), Reached::from([(("area", "a"), 2), (("area", "b"), 1)]));
        note("area", "a");
        assert_eq!(take(), Reached::new());
    }
}
