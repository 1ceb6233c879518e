//! Reads with tags. Elastic Load Balancing cannot filter by tag, describes at most 20 ARNs per call, and returns tags in a
//! separate call for at most 20 ARNs. A search by tag therefore lists all objects, up to 400 per call, and reads the tags of
//! 20 at a time.

use std::collections::{BTreeMap, BTreeSet};

use futures::future::try_join_all;
use kraken_aws::{
    Aws, Tags,
    lookup_kind::passing,
    missing::{for_existing, or_nothing},
    observed::WithTags,
    resource::DescribeQuery,
};
use kraken_kind::Failure;

use crate::elb::{ElbClients as _, operation::describe_tags::DescribeTagsOutput as Page, types::Tag};

/// The maximum number of ARNs in one call.
const ARNS_PER_CALL: usize = 20;
/// The maximum page size.
const PAGE: i32 = 400;
/// The number of objects whose children or tags are read concurrently.
pub(crate) const AT_ONCE: usize = 8;

/// Which objects a call describes. Without ARNs, names and parent: all.
#[derive(Default)]
pub(crate) struct Selection {
    /// Fails if one of them does not exist.
    pub(crate) arns: Option<Vec<String>>,
    /// The same by name.
    pub(crate) names: Option<Vec<String>>,
    /// The ARN of the object that contains them.
    pub(crate) parent: Option<String>,
    pub(crate) page_size: Option<i32>,
}

/// An Elastic Load Balancing object, whose tags are read separately.
pub(crate) trait Listed: WithTags + Default + 'static {
    /// The part that is contained in every ARN of the kind.
    const ARN_PART: &'static str;
    /// Whether listing all objects requires one call per page, and not one per load balancer.
    const LISTS_CHEAPLY: bool = true;

    /// Reads all pages.
    fn describe(aws: &Aws, selection: Selection) -> impl Future<Output = Result<Vec<Self>, Failure>> + Send;

    /// All objects of the kind.
    fn all(aws: &Aws) -> impl Future<Output = Result<Vec<Self>, Failure>> + Send {
        Self::describe(aws, Selection { page_size: Some(PAGE), ..Selection::default() })
    }
}

/// The objects in this one; none if it does not exist.
pub(crate) async fn in_parent<T: Listed>(aws: &Aws, arn: &str) -> Result<Vec<T>, Failure> {
    let parent = Some(arn.to_owned());
    or_nothing(T::describe(aws, Selection { parent, page_size: Some(PAGE), ..Selection::default() }).await)
}

/// The objects in all of these.
pub(crate) async fn in_parents<P: Listed, T: Listed>(aws: &Aws, parents: &[P]) -> Result<Vec<T>, Failure> {
    let mut found = vec![];
    for parents in parents.chunks(AT_ONCE) {
        let objects = parents.iter().map(|parent| in_parent::<T>(aws, parent.id()));
        found.extend(try_join_all(objects).await?.concat());
    }
    Ok(found)
}

/// The objects of a query of [`kraken_aws::AwsResource::read`].
pub(crate) async fn read<T: Listed>(aws: &Aws, query: DescribeQuery) -> Result<Vec<T>, Failure> {
    let objects = match &query.ids {
        Some(arns) => by_arns(aws, arns).await?,
        None => T::all(aws).await?,
    };
    Ok(passing(query.filters.as_deref(), with_tags(aws, objects).await?))
}

async fn by_arns<T: Listed>(aws: &Aws, arns: &[String]) -> Result<Vec<T>, Failure> {
    // An id that is not an ARN of the kind does not exist; AWS would reject the whole call because of it.
    let arns: Vec<String> = arns.iter().filter(|arn| arn.contains(T::ARN_PART)).cloned().collect();
    if T::LISTS_CHEAPLY && arns.len() > ARNS_PER_CALL {
        let wanted: BTreeSet<&str> = arns.iter().map(String::as_str).collect();
        let mut objects = T::all(aws).await?;
        objects.retain(|object| wanted.contains(object.id()));
        return Ok(objects);
    }
    let mut objects = vec![];
    for arns in arns.chunks(ARNS_PER_CALL) {
        let by_arns = |arns| T::describe(aws, Selection { arns: Some(arns), ..Selection::default() });
        objects.extend(for_existing(arns, by_arns).await?.concat());
    }
    Ok(objects)
}

/// The objects with their tags, without those that were deleted in between.
pub(crate) async fn with_tags<T: Listed>(aws: &Aws, objects: Vec<T>) -> Result<Vec<T>, Failure> {
    let arns: Vec<String> = objects.iter().map(|object| object.id().to_owned()).collect();
    let mut tags = tagged(aws, &arns).await?;
    let tagged = |object: T| tags.remove(object.id()).map(|tags| object.with_tags(tags));
    Ok(objects.into_iter().filter_map(tagged).collect())
}

/// The tags of each ARN that exists.
async fn tagged(aws: &Aws, arns: &[String]) -> Result<BTreeMap<String, Tags>, Failure> {
    let mut found = BTreeMap::new();
    for arns in arns.chunks(ARNS_PER_CALL) {
        let pages = for_existing(arns, |arns| {
            let call = aws.elb().describe_tags().set_resource_arns(Some(arns));
            aws.call("DescribeTags", "failed to describe tags", call.send())
        });
        for description in pages.await?.iter().flat_map(Page::tag_descriptions) {
            let text = |text: Option<&str>| text.unwrap_or_default().to_owned();
            let tags = description.tags().iter().map(|tag| (text(tag.key()), text(tag.value()))).collect();
            found.insert(text(description.resource_arn()), tags);
        }
    }
    Ok(found)
}

/// Converts to the SDK's type.
pub(crate) fn to_sdk(tags: &Tags) -> Vec<Tag> {
    tags.iter().map(|(key, value)| Tag::builder().key(key).value(value).build()).collect()
}

/// The methods of [`kraken_aws::AwsResource`] that are the same for all kinds: reads, and changes of tags.
macro_rules! calls {
    ($observed:ty) => {
        async fn read(
            aws: &kraken_aws::Aws,
            query: kraken_aws::resource::DescribeQuery,
        ) -> Result<Vec<$observed>, kraken_kind::Failure> {
            crate::tagged::read(aws, query).await
        }

        async fn set_tags(
            aws: &kraken_aws::Aws,
            id: &str,
            tags: &kraken_aws::Tags,
        ) -> Result<(), kraken_kind::Failure> {
            crate::tagged::set(aws, id, tags).await
        }

        async fn remove_tags(
            aws: &kraken_aws::Aws,
            id: &str,
            keys: &[&str],
        ) -> Result<(), kraken_kind::Failure> {
            crate::tagged::remove(aws, id, keys).await
        }
    };
}
pub(crate) use calls;

/// For [`kraken_aws::AwsResource::set_tags`].
pub(crate) async fn set(aws: &Aws, arn: &str, tags: &Tags) -> Result<(), Failure> {
    let call = aws.elb().add_tags().resource_arns(arn).set_tags(Some(to_sdk(tags)));
    aws.call("AddTags", "failed to set tags", call.send()).await.map(drop)
}

/// For [`kraken_aws::AwsResource::remove_tags`].
pub(crate) async fn remove(aws: &Aws, arn: &str, keys: &[&str]) -> Result<(), Failure> {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let call = aws.elb().remove_tags().resource_arns(arn).set_tag_keys(Some(keys));
    aws.call("RemoveTags", "failed to remove tags", call.send()).await.map(drop)
}
