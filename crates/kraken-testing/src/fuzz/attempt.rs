//! One execution of a target: an error, a panic and a long duration are failures.

use std::{
    cell::RefCell,
    panic::{self, AssertUnwindSafe},
    sync::Once,
    time::{Duration, Instant},
};

use super::{Target, corpus};

/// The maximum duration of one case. Far above what any input needs, because the machine may be busy.
const LIMIT: Duration = Duration::from_secs(10);

thread_local! {
    /// The panics of the current case, if this thread executes one.
    static PANICS: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Executes the target once.
pub(super) fn attempt(target: &Target<'_>, input: &[u8]) -> Result<(), String> {
    capture_panics();
    // A stack overflow aborts the process: the file then has the input.
    corpus::note_current(target.name, input);
    PANICS.set(Some(String::new()));
    let started = Instant::now();
    let result = panic::catch_unwind(AssertUnwindSafe(|| (target.check)(input)));
    let elapsed = started.elapsed();
    let panics = PANICS.take().unwrap_or_default();
    match result {
        Err(_) => Err(panics),
        // A server may have caught the panic.
        Ok(Err(why)) if !panics.is_empty() => Err(format!("{why}: {panics}")),
        Ok(Err(why)) => Err(why),
        Ok(Ok(())) if elapsed > LIMIT => Err(format!("took {:.1} s", elapsed.as_secs_f64())),
        Ok(Ok(())) => Ok(()),
    }
}

/// Panics of a case are part of its result; those of other threads are printed as before.
fn capture_panics() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            let captured = PANICS.with_borrow_mut(|panics| {
                let Some(panics) = panics else { return false };
                panics.push_str(&info.to_string());
                true
            });
            if !captured {
                before(info);
            }
        }));
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fuzz::Rng;

    fn fails() {
        panic!("inside")
    }

    fn nothing(_: &mut Rng, _: &[Vec<u8>]) -> Vec<u8> {
        vec![]
    }

    fn of(check: &dyn Fn(&[u8]) -> Result<(), String>) -> Result<(), String> {
        attempt(&Target { name: "test-of-an-attempt", dictionary: &[], generate: &nothing, check }, b"x")
    }

    #[test]
    fn error_and_panic_are_failures_with_their_message() {
        assert_eq!(of(&|_| Ok(())), Ok(()));
        assert_eq!(of(&|_| Err("wrong".to_owned())), Err("wrong".to_owned()));
        let panicked = of(&|_| panic!("out of bounds")).unwrap_err();
        assert!(panicked.contains("out of bounds") && panicked.contains("attempt.rs"), "{panicked}");
        let caught = of(&|_| {
            drop(panic::catch_unwind(fails));
            Err("the answer is 500".to_owned())
        });
        assert!(caught.unwrap_err().contains("inside"));
    }
}
