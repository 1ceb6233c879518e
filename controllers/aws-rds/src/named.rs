//! Subnet groups and parameter groups: each is described by its name or in a list of all, and the tags of each are a call.

use std::collections::BTreeSet;

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{
    Aws,
    bounds::Pattern,
    lookup::Tagged,
    lookup_kind::passing,
    missing::{existing, or_nothing},
    observed::WithTags,
    resource::{Creation, DescribeQuery, RemoteObject},
};
use kraken_kind::{Failure, FailureClass};

use crate::rds::{self, RdsClients as _};

/// A description.
pub(crate) static DESCRIPTION: Pattern = Pattern::new(
    "^[^[:cntrl:]]*[^[:cntrl:][:space:]][^[:cntrl:]]*$",
    255,
    "must have 1 to 255 characters, not only spaces and no control characters",
);
/// The number of groups that are read concurrently.
const AT_ONCE: usize = 8;
/// The number of groups from which on a list costs less than describing each of them.
const FEW: usize = 4;

/// A group, whose id is its name.
pub(crate) trait Named: RemoteObject + WithTags {
    /// Describes the group with this name, or all groups, without tags.
    fn describe(aws: &Aws, name: Option<String>) -> impl Future<Output = Result<Vec<Self>, Failure>> + Send;
}

/// The groups of a query of [`kraken_aws::AwsResource::read`].
pub(crate) async fn read<T: Named>(aws: &Aws, query: DescribeQuery) -> Result<Vec<T>, Failure> {
    let found = match query.ids.map(BTreeSet::from_iter) {
        Some(names) if names.len() < FEW => {
            let each = names.into_iter().map(|name| async { or_nothing(T::describe(aws, Some(name)).await) });
            stream::iter(each).buffered(AT_ONCE).try_concat().await?
        }
        Some(names) => {
            let mut all = T::describe(aws, None).await?;
            all.retain(|group| names.contains(group.id()));
            all
        }
        None => T::describe(aws, None).await?,
    };
    Ok(passing(query.filters.as_deref(), with_tags(aws, found).await?))
}

/// The groups with their tags, without those that were deleted in between.
async fn with_tags<T: Named>(aws: &Aws, groups: Vec<T>) -> Result<Vec<T>, Failure> {
    let each = groups.into_iter().map(|group| async {
        let call = aws.rds().list_tags_for_resource().resource_name(group.tagged_as());
        let answer = aws.call("ListTagsForResource", "failed to read tags", call.send()).await;
        let tags = or_nothing(answer.map(|answer| Some(rds::tags(answer.tag_list))))?;
        Ok(tags.map(|tags| group.with_tags(tags)))
    });
    existing(AT_ONCE, each).await
}

/// The group of a create call with this name. An error that the name is in use names its holder, unless this launch created it.
pub(crate) async fn created<T: Named>(
    aws: &Aws,
    name: &str,
    creation: &Creation<'_>,
    made: Result<T, Failure>,
) -> Result<T, Failure> {
    match made {
        Err(failure) if failure.class == FailureClass::TokenUsed => {
            let query = DescribeQuery::of(name);
            let holders: Vec<T> = read(aws, query).await?;
            own_or_taken(creation, failure, &format!("the name {name}"), holders)
        }
        made => made.map(|group| group.with_tags(creation.tags.clone())),
    }
}

/// What has the name that a creation wants: the object of this launch, whose response was lost, or an error that names the owner.
pub(crate) fn own_or_taken<T: Tagged>(
    creation: &Creation<'_>,
    refusal: Failure,
    what: &str,
    mut holders: Vec<T>,
) -> Result<T, Failure> {
    match holders.pop() {
        Some(own) if creation.has_created(own.tags()) => Ok(own),
        holder => Err(creation.is_taken(refusal, what, holder.as_slice())),
    }
}
