//! Panics of the simulated code: they are caught where the product catches them, and are violations all the same.

use std::cell::RefCell;
use std::panic;
use std::sync::Once;

thread_local! {
    static SEEN: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

static HOOK: Once = Once::new();

/// From here on the panics of this thread are collected and not printed.
pub(super) fn collect() {
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let collected = SEEN.with_borrow_mut(|seen| {
                let Some(seen) = seen else { return false };
                seen.push(info.to_string());
                true
            });
            if !collected {
                before(info);
            }
        }));
    });
    SEEN.set(Some(Vec::new()));
}

/// Those since the last time.
pub(super) fn take() -> Vec<String> {
    SEEN.with_borrow_mut(|seen| seen.as_mut().map(std::mem::take).unwrap_or_default())
}
