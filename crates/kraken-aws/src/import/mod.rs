//! Imports of AWS objects: the inverse of observing. [`crate::aws_kind`] generates it from the line of each field, as
//! [`AwsSpec::imported`](crate::AwsSpec::imported), and [`check`] removes what the comparison of the kind would find different, so that
//! an adoption by the resulting spec changes nothing.

mod check;
mod fields;
#[doc(hidden)]
pub mod round_trip;
#[cfg(test)]
mod tests;

use futures::{StreamExt, TryStreamExt, stream};
use kraken_kind::{
    Adopt, Failure, FailureClass,
    api::ByTags,
    import::{Found, Import, Scope},
};
use serde_json::Value;

use crate::{
    Aws, AwsResource,
    lookup::{self, Tagged},
    resource::{DescribeQuery, ObservedOf, Phase, Reader, RemoteObject, is_generated_name},
    tags::{self, PREFIX},
};

pub use fields::{Fields, literal};

/// The number of concurrent calls for attributes that need one call per object.
const AT_ONCE: usize = 8;

/// What exists of a kind: for [`kraken_kind::Calls::import`].
///
/// # Errors
/// The first failure of a call.
pub(crate) async fn import<S: AwsResource>(aws: &Aws, scope: &Scope) -> Result<Import, Failure> {
    let objects = match scope {
        Scope::Account => S::read(aws, DescribeQuery { ids: None, filters: None }).await?,
        Scope::Within(place) => S::within(aws, place).await?,
        Scope::Tags(tags) => {
            let wanted = Adopt::Tags(ByTags { tags: tags.clone() });
            let found = lookup::find(&Reader::<S>::new(aws), &wanted).await?;
            found.into_iter().map(|candidate| candidate.observed).collect()
        }
    };
    let is_there = |object: &ObservedOf<S>| !matches!(object.phase(), Phase::Deleting | Phase::Deleted);
    let found = objects.into_iter().filter(is_there).map(|object| found_of::<S>(aws, object));
    let found = stream::iter(found).buffered(AT_ONCE).try_collect().await?;
    let unsupported = match scope {
        Scope::Within(place) => S::unsupported(aws, place).await,
        Scope::Account | Scope::Tags(_) => vec![],
    };
    let named_by = Some(S::NAMED_BY).filter(|field| !field.is_empty());
    Ok(Import { found, unsupported, named_by })
}

/// One object. Attributes that need a call of their own are read only if it gets a spec.
async fn found_of<S: AwsResource>(aws: &Aws, mut object: ObservedOf<S>) -> Result<Found, Failure> {
    let owner = tags::owner(object.tags());
    let refused = owner.as_ref().map(|owner| format!("belongs to {}", owner.owner));
    let refused = refused.or_else(|| S::not_importable(&object));
    if refused.is_none() {
        S::complete(aws, &mut object, S::IMPORTS_DEEP).await?;
    }
    let (spec, mut notes) = match refused {
        Some(why) => (Err(why), vec![]),
        None => check::spec_of::<S>(&object),
    };
    if spec.is_ok() {
        notes.extend(S::import_notes(&object));
        notes.extend(managed_elsewhere(object.tags()));
    }
    Ok(Found { id: object.id().to_owned(), name: name_of(&object, spec.as_ref().ok()), owner, spec, notes })
}

/// The name that a user gave it: the tag, or a name of its own.
fn name_of<T: Tagged>(object: &T, spec: Option<&Value>) -> Option<String> {
    let tag = object.tags().get("Name").cloned();
    let own = || {
        let field = |name: &str| spec?[name]["value"].as_str().map(str::to_owned);
        ["name", "groupName", "keyName"].into_iter().find_map(field)
    };
    tag.filter(|name| !name.is_empty()).or_else(own).filter(|name| !is_generated_name(name))
}

/// Who else changes the object, according to AWS's own tags.
fn managed_elsewhere(tags: &tags::Tags) -> Option<String> {
    let of = |key: &str, what: &str| {
        tags.get(key).map(|name| format!("{what} {name} manages it too: remove it there first"))
    };
    of("aws:cloudformation:stack-name", "the CloudFormation stack")
        .or_else(|| of("aws:eks:cluster-name", "the EKS cluster"))
}

/// Whether a resource of any cluster managed it once, so that a value in it may come from a Secret.
fn was_managed(tags: &tags::Tags) -> bool {
    tags.keys().any(|key| key.starts_with(PREFIX))
}

/// What a failed call for unsupported objects says: a missing permission must not fail an import.
pub fn unknown(what: &str, failure: &Failure) -> String {
    let why = match failure.class {
        FailureClass::Credentials => "the credentials do not permit it",
        _ => failure.message.as_str(),
    };
    format!("{what} could not be listed: {why}")
}
