//! Groups of fields inside of one field of a spec, such as the health check of a target group. [`crate::aws_group`] implements
//! them.

mod canonical;
mod parts;
mod texts;

pub use canonical::{Canonical, canonical};
pub use parts::{Parts, differences, leave_ignored};
pub use texts::Texts;

use schemars::Schema;
use serde_json::json;

use crate::validator::SpecValidator;

/// A group of fields of a spec, with its own desired form.
pub trait AwsGroup {
    /// The resolved and validated values.
    type Desired;

    /// Resolves and validates all values; `None` if one of them has a problem. `field` is the path of the group in the spec.
    fn desired(&self, field: &str, validator: &mut SpecValidator<'_, '_>) -> Option<Self::Desired>;

    /// Whether any value came from a Secret.
    fn is_secret(desired: &Self::Desired) -> bool;
}

/// A group by itself.
pub fn one<G: AwsGroup>(field: &str, group: &G, validator: &mut SpecValidator<'_, '_>) -> Option<G::Desired> {
    group.desired(field, validator)
}

/// A list of groups, each with its index as `routes[0]`. All of them are resolved, so that all problems are reported.
pub fn each<G: AwsGroup>(
    field: &str,
    groups: &[G],
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Vec<G::Desired>> {
    known(each_known(field, groups, validator))
}

/// The same for rules between the items: `None` is an item with a problem.
pub fn each_known<G: AwsGroup>(
    field: &str,
    groups: &[G],
    validator: &mut SpecValidator<'_, '_>,
) -> Vec<Option<G::Desired>> {
    let one = |(index, group): (usize, &G)| group.desired(&format!("{field}[{index}]"), validator);
    groups.iter().enumerate().map(one).collect()
}

/// All items, if none has a problem.
pub fn known<D>(items: Vec<Option<D>>) -> Option<Vec<D>> {
    items.into_iter().collect()
}

/// The message for a spec that sets none or several of these fields.
pub fn exactly_one(names: &[&str]) -> String {
    format!("must have exactly one of {}", names.join(", "))
}

/// Makes the API server reject an object with none or several of the fields, for `#[schemars(transform = ...)]`.
pub fn one_of(names: &'static [&'static str]) -> impl Fn(&mut Schema) {
    move |schema| {
        let each: Vec<_> = names.iter().map(|name| json!({"required": [name]})).collect();
        schema.insert("oneOf".to_owned(), json!(each));
    }
}
