//! Which decisions and outcomes were reached, for the deterministic simulation: it shows what no schedule has led to. Nothing
//! is counted on a thread that did not ask for it, so a controller pays one look at a thread-local per reconcile.

use std::{cell::RefCell, collections::BTreeMap};

/// How often each variant was reached, by area and variant.
pub type Reached = BTreeMap<(&'static str, &'static str), u64>;

thread_local! {
    static REACHED: RefCell<Option<Reached>> = const { RefCell::new(None) };
}

/// Notes that a variant was reached.
pub fn note(area: &'static str, variant: &'static str) {
    REACHED.with_borrow_mut(|reached| {
        if let Some(reached) = reached {
            *reached.entry((area, variant)).or_default() += 1;
        }
    });
}

/// Counts on this thread from now on, from zero.
pub fn begin() {
    REACHED.set(Some(Reached::new()));
}

/// What was reached on this thread since [`begin`]; nothing is counted after it.
pub fn take() -> Reached {
    REACHED.take().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_reached_between_begin_and_take_is_counted() {
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
