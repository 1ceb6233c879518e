//! The differences of one thing, collected field by field. Pure.

use kraken_aws::fields::{ABSENT, NOT_SHOWN, SECRET, listed, shown};
use kraken_spoke::{Difference, FieldDiff, OptionType, Remedy, Resolved};

/// Why a field cannot be changed.
const FIXED: &str = "it is fixed at creation: change it back, or delete and re-create the resource";

pub(crate) struct Differences<C>(pub(crate) Vec<Difference<C>>);

impl<C> Differences<C> {
    pub(crate) fn new() -> Self {
        Self(vec![])
    }

    /// Compares a value, if one is wanted, with what is there; `change` mends it in place.
    pub(crate) fn field<T: OptionType + ToString>(
        &mut self,
        path: &str,
        want: Option<&Resolved<T>>,
        have: Option<&impl ToString>,
        change: impl FnOnce() -> C,
    ) {
        self.compare(path, want, have, || Remedy::Change(change()));
    }

    /// The same for a field that cannot be changed.
    pub(crate) fn fixed<T: OptionType + ToString>(
        &mut self,
        path: &str,
        want: Option<&Resolved<T>>,
        have: Option<&impl ToString>,
    ) {
        self.compare(path, want, have, || Remedy::Immutable(FIXED.to_owned()));
    }

    /// The same for a list whose order does not matter.
    pub(crate) fn set(
        &mut self,
        path: &str,
        want: Option<&Resolved<Vec<String>>>,
        have: &[&str],
        change: impl FnOnce() -> C,
    ) {
        let Some(wanted) = want.map(Resolved::expose) else { return };
        let same = wanted.len() == have.len() && wanted.iter().all(|wanted| have.contains(&wanted.as_str()));
        if !same {
            let (want, have) = texts(want, have);
            self.push(path, want, have, Remedy::Change(change()));
        }
    }

    pub(crate) fn push(&mut self, path: &str, want: String, have: String, remedy: Remedy<C>) {
        self.0.push(Difference { field: FieldDiff::new(path, want, have), remedy });
    }

    fn compare<T: OptionType + ToString>(
        &mut self,
        path: &str,
        want: Option<&Resolved<T>>,
        have: Option<&impl ToString>,
        remedy: impl FnOnce() -> Remedy<C>,
    ) {
        let Some(want) = want else { return };
        let have = have.map(ToString::to_string);
        if have.as_ref() != Some(&want.expose().to_string()) {
            let have = match have {
                Some(_) if want.is_secret() => NOT_SHOWN.to_owned(),
                have => have.unwrap_or_else(|| ABSENT.to_owned()),
            };
            self.push(path, shown(want), have, remedy());
        }
    }
}

/// Both lists as text; nothing of a secret one.
pub(crate) fn texts(want: Option<&Resolved<Vec<String>>>, have: &[&str]) -> (String, String) {
    let list = |items: &[&str]| if items.is_empty() { "none".to_owned() } else { listed(items) };
    match want.map(Resolved::public) {
        Some(None) => (SECRET.to_owned(), NOT_SHOWN.to_owned()),
        Some(Some(want)) => (list(&want.iter().map(String::as_str).collect::<Vec<_>>()), list(have)),
        None => (list(&[]), list(have)),
    }
}
