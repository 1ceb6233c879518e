//! The calls of a kind whose resources can have several objects, and of a kind with one.

use std::{borrow::Cow, future::ready};

use kraken_spoke::{Difference, Edit, Failure, Features, Identity, OwnSecret, SpokeKind};
use kube::core::object::HasSpec;

use super::{
    AwsSpec, Change, ChangeOf, Creation, DescribeQuery, DesiredOf, Group, ObservedOf, SpecOf, in_vpc,
    tag_changes,
};
use crate::{Aws, claim, lookup::Tagged, tags::Tags};

/// The calls of a kind with a number of AWS objects per resource. [`super::Managed`] implements [`kraken_spoke::External`] for
/// it; its pure part is the [`AwsSpec`] of its kind. A kind with one object implements [`super::AwsResource`] instead, which
/// documents what both have.
///
/// Objects of a call are live ones of the resource. Those of `delete`, `start` and `release` have the tags of its identity.
pub trait AwsObjects: Sized + Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind + HasSpec<Spec: AwsSpec>;

    /// As [`kraken_spoke::External::FEATURES`], without those that its spec declares.
    const FEATURES: Features = Features::NONE;
    /// As [`super::AwsResource::NAMED_BY`].
    const NAMED_BY: &'static str = "";
    /// As [`super::AwsResource::IN_VPC`].
    const IN_VPC: &'static str = "vpc-id";
    /// As [`super::AwsResource::IMPORTS_DEEP`].
    const IMPORTS_DEEP: bool = true;
    /// As [`super::AwsResource::HIDDEN`].
    const HIDDEN: &[&str] = &[];

    /// Pure. As [`super::AwsResource::edit_of`].
    fn edit_of(before: &SpecOf<Self>, after: &SpecOf<Self>, field: &str) -> Edit {
        AwsSpec::edit_of(before, after, field)
    }

    /// Pure. As [`super::AwsResource::contains`].
    fn contains(_: &SpecOf<Self>) -> Cow<'static, str> {
        Self::FEATURES.contains.into()
    }

    /// Pure. As [`super::AwsResource::own_secret`].
    fn own_secret(_: &SpecOf<Self>) -> Option<OwnSecret> {
        None
    }

    /// Pure. The differences in fields of the kind, each with its objects, and of all objects that are kept. A kind that stops
    /// objects for a change decides here which ones.
    fn remedies(
        _: &DesiredOf<Self>,
        _: &[&ObservedOf<Self>],
        differences: Vec<Group<'_, ObservedOf<Self>, ChangeOf<Self>>>,
    ) -> Vec<Difference<Change<ChangeOf<Self>>>> {
        differences.into_iter().map(|group| group.map(Change::Own).difference()).collect()
    }

    /// Pure. As [`kraken_spoke::External::describe_change`], with the ids of the changed objects.
    fn describe_change(_: &ChangeOf<Self>, _: &[String]) -> Option<String> {
        None
    }

    /// Pure. As [`kraken_spoke::External::disrupted`].
    fn disrupted(_: &[&ObservedOf<Self>]) -> (Vec<String>, bool) {
        (vec![], false)
    }

    /// Pure. As [`super::AwsResource::not_importable`].
    fn not_importable(_: &ObservedOf<Self>) -> Option<String> {
        None
    }

    /// Pure. As [`super::AwsResource::import_notes`].
    fn import_notes(_: &ObservedOf<Self>) -> Vec<String> {
        vec![]
    }

    /// As [`super::AwsResource::within`].
    fn within(aws: &Aws, place: &str) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send {
        let query = in_vpc(Self::IN_VPC, place);
        async move {
            match query {
                Some(query) => Self::read(aws, query).await,
                None => Ok(vec![]),
            }
        }
    }

    /// As [`super::AwsResource::unsupported`].
    fn unsupported(_: &Aws, _place: &str) -> impl Future<Output = Vec<String>> + Send {
        ready(vec![])
    }

    /// As [`super::AwsResource::read`].
    fn read(
        aws: &Aws,
        query: DescribeQuery,
    ) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send;

    /// As [`super::AwsResource::complete`].
    fn complete(
        _: &Aws,
        _: &mut ObservedOf<Self>,
        _deep: bool,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Creates the objects that are missing besides the existing ones, as [`super::AwsResource::create`].
    fn create(
        aws: &Aws,
        desired: &DesiredOf<Self>,
        creation: &Creation<'_>,
        existing: usize,
    ) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send;

    /// As [`super::AwsResource::update`], on these objects.
    fn update(
        aws: &Aws,
        change: &ChangeOf<Self>,
        desired: &DesiredOf<Self>,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// As [`super::AwsResource::hand_over`].
    fn hand_over(
        _: &Aws,
        _: &DesiredOf<Self>,
        _replaced: &ObservedOf<Self>,
    ) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        ready(Ok(None))
    }

    /// As [`kraken_spoke::External::resume`].
    fn start(_: &Aws, _: &[&ObservedOf<Self>]) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Pure. As [`super::AwsResource::to_delete`].
    fn to_delete(_: &SpecOf<Self>, _: &mut ObservedOf<Self>) {}

    /// Pure. As [`super::AwsResource::unprotected_by`].
    fn unprotected_by(_: &SpecOf<Self>) -> Option<&'static str> {
        None
    }

    /// As [`super::AwsResource::unprotect`].
    fn unprotect(_: &Aws, _: &ObservedOf<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// As [`super::AwsResource::delete`]. Returns the ids that AWS does not find, as [`kraken_spoke::External::delete`].
    fn delete(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send;

    /// As [`super::AwsResource::set_tags`].
    fn set_tags(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        tags: &Tags,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let ids = ids(objects);
        async move { tag_changes::set_all(aws, &ids, tags).await }
    }

    /// As [`super::AwsResource::remove_tags`].
    fn remove_tag(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        key: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let ids = ids(objects);
        async move { tag_changes::remove_all(aws, &ids, &[key], "failed to remove a tag").await }
    }

    /// Sets the tags of the identity, and others of Kraken, on objects that are adopted or have lost them. By default, objects
    /// of EC2.
    fn claim(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        tags: &Tags,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        let ids = ids(objects);
        async move { claim::claim(aws, ids, tags).await }
    }

    /// Removes Kraken's tags. An object that is not found is a transient failure: it was observed before.
    fn release(
        aws: &Aws,
        identity: &Identity,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<(), Failure>> + Send;
}

fn ids<T: Tagged>(objects: &[&T]) -> Vec<String> {
    objects.iter().map(|object| object.id().to_owned()).collect()
}
