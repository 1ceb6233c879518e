//! Resolves the options of a spec and validates each value with a rule of its kind. Pure.

use std::borrow::Borrow;

use kraken_kind::{
    Opt, OptionType, Resolved, Resolver,
    options::{Following, ListOpt, Public},
};

use crate::{
    resolved::Optional,
    rules::{ValidationError, ValidationResult},
    tags::{self, TagOptions, Tags},
};

/// Resolves options and validates each with its rule. All options are resolved before an error is returned, so that all
/// problems are reported at once: the caller checks [`SpecValidator::is_valid`] at the end.
#[derive(Debug)]
pub struct SpecValidator<'a, 'v> {
    values: &'a mut Resolver<'v>,
    valid: bool,
}

impl<'a, 'v> SpecValidator<'a, 'v> {
    /// Uses this resolver.
    pub fn new(values: &'a mut Resolver<'v>) -> Self {
        Self { values, valid: true }
    }

    /// Whether no rule was violated so far. A missing value is indicated by `None`.
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// A value without a rule.
    pub fn any<T: OptionType>(&mut self, field: &str, option: &Opt<T>) -> Option<Resolved<T>> {
        self.values.take(field, option)
    }

    /// As [`SpecValidator::any`], of an option that may be absent: `Some(None)` if it is.
    pub fn any_if<T: OptionType>(&mut self, field: &str, option: Option<&Opt<T>>) -> Optional<T> {
        match option {
            Some(option) => self.any(field, option).map(Some),
            None => self.unset(field),
        }
    }

    /// A value that must satisfy the rule.
    pub fn one<T: OptionType + Borrow<B>, B: ?Sized, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        option: &Opt<T>,
        rule: impl FnOnce(&B) -> ValidationResult<W>,
    ) -> Option<Resolved<T>> {
        let value = self.values.take(field, option)?;
        self.check(field, rule(value.expose().borrow()), value.is_secret());
        Some(value)
    }

    /// As [`SpecValidator::one`], of an option that may be absent: `Some(None)` if it is.
    pub fn optional<T: OptionType + Borrow<B>, B: ?Sized, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        option: Option<&Opt<T>>,
        rule: impl FnOnce(&B) -> ValidationResult<W>,
    ) -> Optional<T> {
        match option {
            Some(option) => self.one(field, option, rule).map(Some),
            None => self.unset(field),
        }
    }

    /// A public value that must satisfy the rule: it cannot come from a Secret.
    pub fn public<T: OptionType + Borrow<B>, B: ?Sized, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        option: &Public<Opt<T>>,
        rule: impl FnOnce(&B) -> ValidationResult<W>,
    ) -> Option<Resolved<T>> {
        let value = self.values.take_public(field, option)?;
        self.check(field, rule(value.expose().borrow()), false);
        Some(value)
    }

    /// As [`SpecValidator::public`], of an option that may be absent: `Some(None)` if it is.
    pub fn public_if<T: OptionType + Borrow<B>, B: ?Sized, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        option: Option<&Public<Opt<T>>>,
        rule: impl FnOnce(&B) -> ValidationResult<W>,
    ) -> Optional<T> {
        match option {
            Some(option) => self.public(field, option, rule).map(Some),
            None => self.unset(field),
        }
    }

    /// A list that must satisfy the rule as a whole; `Some(None)` if it is absent. All lists of AWS's kinds are sets: an item
    /// that several references lead to is one item.
    pub fn list<T: OptionType, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        list: Option<&ListOpt<T>>,
        rule: impl FnOnce(&[T]) -> ValidationResult<W>,
    ) -> Optional<Vec<T>> {
        let Some(written) = list else { return self.unset(field) };
        let items = self.values.take_list(field, written)?;
        self.check_list(field, list, rule(items.expose()), items.is_secret());
        Some(Some(items.map(|items| distinct(items))))
    }

    /// A list in which each item must satisfy the rule; each invalid item is reported, with its index in the spec.
    /// `Some(None)` if it is absent. A set, as in [`SpecValidator::list`].
    pub fn each<T: OptionType + Borrow<B>, B: ?Sized, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        list: Option<&ListOpt<T>>,
        rule: impl Fn(&B) -> ValidationResult<W>,
    ) -> Optional<Vec<T>> {
        let Some(written) = list else { return self.unset(field) };
        let items = self.values.take_list(field, written)?;
        let kept = items.map(|items| distinct(items));
        for (index, item) in items.expose().iter().enumerate() {
            let fault = rule(item.borrow()).map_err(|fault| fault.into().of_item(index));
            self.check_list(field, list, fault, items.is_secret());
        }
        Some(Some(kept))
    }

    /// The user's tags, by AWS's rules for tags.
    pub fn tags(&mut self, options: &TagOptions) -> Option<Tags> {
        tags::take(options, self.values)
    }

    /// The tags of the objects that a look-up searches for. Unlike [`SpecValidator::tags`], without the default tags of the account.
    pub fn wanted_tags(&mut self, options: &TagOptions) -> Option<Tags> {
        tags::take_wanted(options, self.values)
    }

    /// As [`Resolver::follow`].
    pub fn follow(&mut self) -> Following {
        self.values.follow()
    }

    /// As [`Resolver::followed`].
    #[allow(clippy::option_option)] // "absent" and "problem" differ, and `?` unwraps the outer option
    pub fn followed<T>(&mut self, following: Following, taken: Option<Option<T>>) -> Option<Option<T>> {
        self.values.followed(following, taken)
    }

    /// Records a violated rule between fields.
    pub fn problem(&mut self, field: &str, why: impl Into<String>) {
        self.valid = false;
        self.values.problem(field, why);
    }

    /// Records the violated rule of a list. An item of a literal list has its own path, as in messages of the API server:
    /// `securityGroupIDs.value[1]`.
    pub fn check_list<T, W: Into<ValidationError>>(
        &mut self,
        field: &str,
        list: Option<&ListOpt<T>>,
        result: ValidationResult<W>,
        is_secret: bool,
    ) {
        let Err(fault) = result.map_err(Into::into) else { return };
        match (fault.item, list) {
            (Some(index), Some(Opt::Value(_))) => {
                self.check(&format!("{field}.value[{index}]"), Err(fault), is_secret);
            }
            (Some(index), _) => {
                let text = format!("item {index} {}", fault.text);
                self.check(field, Err(ValidationError { text, ..fault }), is_secret);
            }
            (None, _) => self.check(field, Err(fault), is_secret),
        }
    }

    /// AWS chooses the value of an absent option: the rules of an Account apply to it too. A field whose absence means that
    /// there is no such object is declared as `none_if_unset`, and does not come here.
    #[expect(clippy::unnecessary_wraps, reason = "it is the value of the field")]
    fn unset<T: OptionType>(&mut self, field: &str) -> Optional<T> {
        self.values.unset(field);
        Some(None)
    }

    fn check<W: Into<ValidationError>>(&mut self, field: &str, result: ValidationResult<W>, is_secret: bool) {
        if let Err(fault) = result {
            let fault = fault.into();
            self.problem(field, if is_secret { fault.text } else { fault.shown() });
        }
    }
}

/// The first occurrence of each item.
fn distinct<T: Clone + PartialEq>(items: &[T]) -> Vec<T> {
    let mut kept = Vec::<T>::with_capacity(items.len());
    for item in items {
        if !kept.contains(item) {
            kept.push(item.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use kraken_kind::options::{SecretData, Values};
    use serde_json::{Value, json};

    use super::*;
    use crate::cidr;

    fn values() -> Values {
        let keys = [("k".to_owned(), "10.9.8.7/16".into())].into();
        let data = SecretData { version: "1".into(), keys, ..SecretData::default() };
        Values { secrets: [("s".to_owned(), data)].into(), ..Values::default() }
    }

    fn problems(validate: impl FnOnce(&mut SpecValidator<'_, '_>)) -> Vec<String> {
        let values = values();
        let mut resolver = Resolver::new(&values);
        let mut validator = SpecValidator::new(&mut resolver);
        validate(&mut validator);
        assert!(!validator.is_valid());
        resolver.finish().problems.iter().map(ToString::to_string).collect()
    }

    fn option(written: &Value) -> Opt<String> {
        serde_json::from_value(written.clone()).unwrap()
    }

    #[test]
    fn a_hint_is_shown_only_for_public_values() {
        let from_secret = json!({"valueFrom": {"secret": {"name": "s", "key": "k"}}});
        let secret = "the value of Secret s key \"k\" ";
        for (written, value, words) in
            [(json!({"value": "10.9.8.7/16"}), "", ": write 10.9.0.0/16"), (from_secret, secret, "")]
        {
            let found = problems(|validator| drop(validator.one("cidrBlock", &option(&written), cidr::v4)));
            assert_eq!(
                found,
                [format!("spec.cidrBlock: {value}has host bits set for the prefix length /16{words}")]
            );
        }
    }

    #[test]
    fn each_invalid_item_is_reported() {
        let list: ListOpt<String> =
            serde_json::from_value(json!({"value": ["10.0.0.0/8", "x", "::/0"]})).unwrap();
        let found = problems(|validator| drop(validator.each("blocks", Some(&list), cidr::v4)));
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("spec.blocks.value[1]: must be an IPv4 CIDR block"), "{}", found[0]);
    }

    #[test]
    fn an_item_that_several_references_lead_to_is_one_item() {
        let offices = [("a", "10.1.0.0/16"), ("b", "10.2.0.0/16"), ("c", "10.1.0.0/16")];
        let offices = offices.map(|(key, block)| (key.to_owned(), block.to_owned()));
        let values =
            Values { config_maps: [("offices".to_owned(), offices.into())].into(), ..Values::default() };
        let from = |key: &str| json!({"valueFrom": {"configMap": {"name": "offices", "key": key}}});
        let list: ListOpt<String> =
            serde_json::from_value(json!({"value": [from("a"), from("b"), from("c"), "10.2.0.0/16"]}))
                .unwrap();
        let mut resolver = Resolver::new(&values);
        let mut validator = SpecValidator::new(&mut resolver);
        let each = validator.each("blocks", Some(&list), cidr::v4).unwrap().unwrap();
        let whole = validator.list("blocks", Some(&list), |_| Ok::<_, String>(())).unwrap().unwrap();
        assert!(validator.is_valid());
        assert_eq!(each.expose(), &["10.1.0.0/16", "10.2.0.0/16"]);
        assert_eq!(whole.expose(), each.expose());
    }
}
