//! Takes the options of a spec and checks each by its rule; every problem is told, not only the first.

use std::borrow::Borrow;

use kraken_spoke::{Opt, OptionType, Resolved, Resolver, options::ListOpt};

use crate::rules::Verdict;

/// What an option that may be absent came to: `None` is a problem that was recorded.
pub(crate) type Optional<T> = Option<Option<Resolved<T>>>;

pub(crate) struct Take<'a, 'v> {
    values: &'a mut Resolver<'v>,
    valid: bool,
}

impl<'a, 'v> Take<'a, 'v> {
    pub(crate) fn new(values: &'a mut Resolver<'v>) -> Self {
        Self { values, valid: true }
    }

    pub(crate) fn one<T: OptionType + Borrow<B>, B: ?Sized>(
        &mut self,
        field: &str,
        option: &Opt<T>,
        rule: fn(&B) -> Verdict,
    ) -> Option<Resolved<T>> {
        let value = self.values.take(field, option)?;
        self.check(field, rule(value.expose().borrow()));
        Some(value)
    }

    pub(crate) fn optional<T: OptionType + Borrow<B>, B: ?Sized>(
        &mut self,
        field: &str,
        option: Option<&Opt<T>>,
        rule: fn(&B) -> Verdict,
    ) -> Optional<T> {
        match option {
            Some(option) => self.one(field, option, rule).map(Some),
            None => Some(None),
        }
    }

    pub(crate) fn list<T: OptionType>(
        &mut self,
        field: &str,
        list: Option<&ListOpt<T>>,
        rule: fn(&[T]) -> Verdict,
    ) -> Optional<Vec<T>> {
        let value = self.values.take_list_if(field, list)?;
        if let Some(value) = &value {
            self.check(field, rule(value.expose()));
        }
        Some(value)
    }

    pub(crate) fn check(&mut self, field: &str, verdict: Verdict) {
        if let Err(why) = verdict {
            self.problem(field, why);
        }
    }

    pub(crate) fn problem(&mut self, field: &str, why: impl Into<String>) {
        self.valid = false;
        self.values.problem(field, why.into());
    }

    /// What was made of the options, if nothing is wrong with any.
    pub(crate) fn finish<D>(self, desired: Option<D>) -> Option<D> {
        desired.filter(|_| self.valid)
    }
}

/// A rule that everything passes.
#[allow(clippy::unnecessary_wraps)]
pub(crate) fn any<T: ?Sized>(_: &T) -> Verdict {
    Ok(())
}

/// The value, if there is one.
#[allow(clippy::ref_option)] // it is what taking returns
pub(crate) fn given<T: OptionType + Clone>(value: &Optional<T>) -> Option<T> {
    value.as_ref()?.as_ref().map(|value| value.expose().clone())
}

/// The value as a call sends it, if there is one.
pub(crate) fn sent<T: OptionType, U>(value: Option<&Resolved<T>>, form: impl FnOnce(&T) -> U) -> Option<U> {
    value.map(|value| form(value.expose()))
}
