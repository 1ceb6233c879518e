//! The layer for kinds of AWS. It implements their common parts, so that a kind consists of its fields, their comparison, and
//! its calls: [`AwsResource`] with one object per resource (a VPC, a subnet, a listener), [`AwsObjects`] with several (EC2
//! instances).

mod compare;
mod creation;
mod external;
mod group;
mod holder;
mod objects;
mod one;
mod reader;
mod select;
mod spec;
mod tag_changes;

use std::{borrow::Cow, fmt::Debug, future::ready};

use aws_sdk_ec2::types::Filter;
use kraken_spoke::{Edit, Failure, Features, OwnSecret, SpokeKind};
use kube::core::object::HasSpec;
use serde::Serialize;
use serde_json::Value;

pub(crate) use compare::compare;
pub use compare::{Change, DesiredWithTags};
pub use creation::{Creation, is_generated_name};
pub use external::Managed;
pub use group::Group;
pub use holder::in_use;
pub use objects::AwsObjects;
pub(crate) use reader::Reader;
pub use spec::AwsSpec;
pub use tag_changes::{TagChange, remove_all as remove_tags_of_all, set_all as set_tags_of_all};

use crate::{Aws, lookup::Tagged, tags::Tags};

/// The lifecycle phase of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It exists and is ready.
    Available,
    /// It is in a transitional state; the text is AWS's state: "pending".
    Pending(String),
    /// Its creation failed; the text is the cause.
    Failed(String),
    /// It is being deleted.
    Deleting,
    /// It is deleted, and still returned by AWS.
    Deleted,
}

/// An AWS object as plain data. Its serialized form is the published state: an allow-list of fields with AWS's names.
pub trait RemoteObject: Tagged + Serialize + Debug + Sync + 'static {
    /// Its phase. Most objects are ready as soon as they are created.
    fn phase(&self) -> Phase {
        Phase::Available
    }

    /// The fields of the published state that dependents can use while the object is [pending](Phase::Pending), such as the records that
    /// validate a certificate. They are published without the main id. By default none: nothing is published before.
    fn pending_state(&self) -> Option<Value> {
        None
    }

    /// The id for tagging, if it differs from the id.
    fn tagged_as(&self) -> &str {
        self.id()
    }

    /// Its index among the objects of its launch, by which they are ordered.
    fn launch_index(&self) -> i32 {
        0
    }
}

/// A query: the objects with these ids, or those that match these filters; never both.
#[derive(Clone, Debug)]
pub struct DescribeQuery {
    /// The ids.
    pub ids: Option<Vec<String>>,
    /// EC2 filters.
    pub filters: Option<Vec<Filter>>,
}

/// The query for the objects in a VPC; none if the id is not that of a VPC, or the kind has no such filter.
fn in_vpc(filter_name: &str, place: &str) -> Option<DescribeQuery> {
    let is_vpc = place.starts_with("vpc-") && !filter_name.is_empty();
    is_vpc.then(|| DescribeQuery::with(filter_name, place))
}

/// The spec of a kind.
pub type SpecOf<S> = <<S as AwsObjects>::Kind as HasSpec>::Spec;
/// The desired state of a kind.
pub type DesiredOf<S> = <SpecOf<S> as AwsSpec>::Desired;
/// The observed object of a kind.
pub type ObservedOf<S> = <SpecOf<S> as AwsSpec>::Observed;
/// The changes in place of a kind.
pub type ChangeOf<S> = <SpecOf<S> as AwsSpec>::Change;

/// The calls of a kind with one AWS object per resource. [`Managed`] implements [`kraken_spoke::External`] for it; its pure part
/// is the [`AwsSpec`] of its kind.
pub trait AwsResource: Sized + Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind + HasSpec<Spec: AwsSpec>;

    /// As [`kraken_spoke::External::FEATURES`], without those that its spec declares. A creation is idempotent by a token, or by a unique
    /// name ([`Creation::name`]); a deleted object is shown as [`Phase::Deleted`].
    const FEATURES: Features = Features::NONE;
    /// The field of other kinds that contains the id of an object, for a kind whose ids are names, such as `keyName`; else empty.
    const NAMED_BY: &'static str = "";
    /// The EC2 filter that finds the objects in a VPC; empty if there are none in a VPC.
    const IN_VPC: &'static str = "vpc-id";
    /// Whether an import reads the attributes that need one call per object.
    const IMPORTS_DEEP: bool = true;
    /// The keys of Kraken's tags besides [`crate::tags::KEYS`], which a release removes too.
    const OWN_KEYS: &[&str] = &[];
    /// The paths of texts in an imported spec that may come from a Secret of a former resource.
    const HIDDEN: &[&str] = &[];

    /// Pure. As [`kraken_spoke::External::edit_of`].
    fn edit_of(before: &SpecOf<Self>, after: &SpecOf<Self>, field: &str) -> Edit {
        AwsSpec::edit_of(before, after, field)
    }

    /// Pure. As [`kraken_spoke::External::contains`].
    fn contains(_: &SpecOf<Self>) -> Cow<'static, str> {
        Self::FEATURES.contains.into()
    }

    /// Pure. As [`kraken_spoke::External::own_secret`].
    fn own_secret(_: &SpecOf<Self>) -> Option<OwnSecret> {
        None
    }

    /// Pure. Why an object cannot be managed by a resource, such as the default security group.
    fn not_importable(_: &ObservedOf<Self>) -> Option<String> {
        None
    }

    /// Pure. What an imported spec does not contain, in words.
    fn import_notes(_: &ObservedOf<Self>) -> Vec<String> {
        vec![]
    }

    /// The objects in the VPC with this id.
    fn within(aws: &Aws, place: &str) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send {
        let query = in_vpc(Self::IN_VPC, place);
        async move {
            match query {
                Some(query) => Self::read(aws, query).await,
                None => Ok(vec![]),
            }
        }
    }

    /// What exists in the VPC with this id and belongs to no kind, in words. A call that fails says so in its place.
    fn unsupported(_: &Aws, _place: &str) -> impl Future<Output = Vec<String>> + Send {
        ready(vec![])
    }

    /// Reads all pages.
    fn read(
        aws: &Aws,
        query: DescribeQuery,
    ) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send;

    /// Reads attributes that are not in the batched response and need one call per object; `deep` as in
    /// [`kraken_spoke::ObserveRequest::deep`].
    fn complete(
        _: &Aws,
        _: &mut ObservedOf<Self>,
        _deep: bool,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Creates it, with all tags in the same call, with [`Aws::ec2_once`] or [`Aws::client_once`].
    fn create(
        aws: &Aws,
        desired: &DesiredOf<Self>,
        creation: &Creation<'_>,
    ) -> impl Future<Output = Result<ObservedOf<Self>, Failure>> + Send;

    /// Performs one change. All changes are idempotent.
    fn update(
        aws: &Aws,
        change: &ChangeOf<Self>,
        desired: &DesiredOf<Self>,
        object: &ObservedOf<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// As [`kraken_spoke::External::hand_over`], of one replaced object.
    fn hand_over(
        _: &Aws,
        _: &DesiredOf<Self>,
        _replaced: &ObservedOf<Self>,
    ) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        ready(Ok(None))
    }

    /// Pure. As [`kraken_spoke::External::to_delete`], of one object.
    fn to_delete(_: &SpecOf<Self>, _: &mut ObservedOf<Self>) {}

    /// Pure. As [`kraken_spoke::External::unprotected_by`].
    fn unprotected_by(_: &SpecOf<Self>) -> Option<&'static str> {
        None
    }

    /// Disables AWS's deletion protection of an object, as [`kraken_spoke::External::unprotect`].
    fn unprotect(_: &Aws, _: &ObservedOf<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Requests its deletion. Objects that no longer exist are excluded before.
    fn delete(aws: &Aws, object: &ObservedOf<Self>) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sets tags of an object. By default, an object of EC2.
    fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::set(aws, id, tags)
    }

    /// Removes tags of an object. By default, an object of EC2.
    fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::remove(aws, id, keys)
    }
}
