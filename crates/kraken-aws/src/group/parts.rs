//! Values that a call sends as a whole and whose parts are compared and ignored one by one, such as the action of a listener.

use std::fmt::Display;

use kraken_kind::{Difference, Ignored};

use crate::{diff::difference, fields::NOT_SHOWN, resolved::Joined};

/// A value in canonical form, desired or observed.
pub trait Parts: Display + Clone {
    /// A part.
    type Part: Copy;
    /// The text of an observed value that has no such form.
    const UNSUPPORTED: &'static str;

    /// The path of a part in the spec; `field` is that of the value.
    fn path(&self, field: &str, part: Self::Part) -> String;

    /// The parts of this desired value that differ from the observed one.
    fn differing(&self, observed: &Self) -> Vec<Self::Part>;

    /// A part as text.
    fn text(&self, part: Self::Part) -> String;

    /// Replaces a part with that of the observed value.
    fn keep(&mut self, part: Self::Part, observed: &Self);
}

/// The differences, one for each part; `field` is the path of the value in the spec.
pub fn differences<P: Parts, C>(
    field: &str,
    desired: &Joined<P>,
    observed: Option<&P>,
    change: impl Fn() -> C,
) -> Vec<Difference<C>> {
    let one = |path: &str, want: String, have: String| {
        if desired.is_secret() {
            return difference(path, desired.shown(), NOT_SHOWN, change());
        }
        difference(path, want, have, change())
    };
    let wanted = desired.expose();
    let Some(observed) = observed else {
        return vec![one(field, wanted.to_string(), P::UNSUPPORTED.to_owned())];
    };
    let of_part = |part| one(&wanted.path(field, part), wanted.text(part), observed.text(part));
    wanted.differing(observed).into_iter().map(of_part).collect()
}

/// Gives differing ignored parts their observed values, because a call sends all parts. Whether there were any.
pub fn leave_ignored<P: Parts>(
    field: &str,
    desired: &mut Joined<P>,
    observed: Option<&P>,
    ignored: &Ignored,
) -> bool {
    let Some(observed) = observed else { return false };
    let mut kept = desired.expose().clone();
    let mut parts = kept.differing(observed);
    parts.retain(|part| ignored.covers(&kept.path(field, *part)));
    for part in &parts {
        kept.keep(*part, observed);
    }
    *desired = Joined::new(kept, desired.is_secret());
    !parts.is_empty()
}

#[cfg(test)]
mod tests {
    use std::fmt;

    use super::*;

    /// A pair whose parts are its indexes.
    #[derive(Clone, Debug, PartialEq)]
    struct Pair([i32; 2]);

    impl fmt::Display for Pair {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "{:?}", self.0)
        }
    }

    impl Parts for Pair {
        type Part = usize;
        const UNSUPPORTED: &'static str = "no pair";

        fn path(&self, field: &str, part: usize) -> String {
            format!("{field}.p{part}")
        }

        fn differing(&self, observed: &Self) -> Vec<usize> {
            (0..2).filter(|part| self.0[*part] != observed.0[*part]).collect()
        }

        fn text(&self, part: usize) -> String {
            self.0[part].to_string()
        }

        fn keep(&mut self, part: usize, observed: &Self) {
            self.0[part] = observed.0[part];
        }
    }

    fn shown(is_secret: bool, observed: Option<&Pair>) -> Vec<String> {
        let found = differences("f", &Joined::new(Pair([1, 2]), is_secret), observed, || ());
        let one =
            |one: Difference<()>| format!("{}: {} not {}", one.field.path, one.field.want, one.field.have);
        found.into_iter().map(one).collect()
    }

    #[test]
    fn each_part_differs_by_itself() {
        assert_eq!(shown(false, Some(&Pair([1, 3]))), ["f.p1: 2 not 3"]);
        assert_eq!(shown(false, Some(&Pair([0, 3]))).len(), 2);
        assert_eq!(shown(false, None), ["f: [1, 2] not no pair"]);
    }

    #[test]
    fn no_part_of_a_secret_value_is_shown() {
        assert_eq!(shown(true, Some(&Pair([1, 3]))), ["f.p1: *** not (not shown)"]);
        assert_eq!(shown(true, None), ["f: *** not (not shown)"]);
    }

    #[test]
    fn an_ignored_part_is_sent_as_it_is_observed() {
        let ignored = Ignored::new(&["f.p1".to_owned()]);
        let leave = |observed: Pair| {
            let mut desired = Joined::new(Pair([1, 2]), false);
            let is_any = leave_ignored("f", &mut desired, Some(&observed), &ignored);
            (is_any, desired.expose().clone())
        };
        assert_eq!(leave(Pair([0, 3])), (true, Pair([1, 3])));
        assert_eq!(leave(Pair([0, 2])), (false, Pair([1, 2])));
    }
}
