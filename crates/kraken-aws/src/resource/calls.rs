//! The calls of a kind: of one object, and of all objects of a resource.

use std::{borrow::Cow, future::ready};

use kraken_kind::{Difference, Edit, Failure, Features, Identity, OwnSecret, SpokeKind};
use kube::core::object::HasSpec;

use super::{
    AwsSpec, Change, ChangeOf, Creation, DescribeQuery, DesiredOf, Group, ObservedOf, RemoteObject, SpecOf,
    tag_changes,
};
use crate::{
    Aws,
    lookup::Tagged,
    missing::is_invalid_id,
    release::lagging,
    tags::{KEYS, Tags},
};

/// The calls of a kind. [`super::Managed`] implements [`kraken_kind::Calls`] by them, and [`super::ManagedKind`] [`kraken_kind::Kind`]
/// by its pure functions and the [`AwsSpec`] of its kind.
///
/// Most kinds have one object per resource, and implement the functions for one object. Those with `_all` in their name are called with the
/// objects of one resource, and by default make the call for each of them: there is more than one only until surplus objects are deleted. A
/// kind with a number of objects, such as EC2 instances, implements them by calls for several objects at once.
///
/// Objects of a call are live ones of the resource. Those of a start, a deletion and a release have the tags of its identity.
pub trait AwsResource: Sized + Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind + HasSpec<Spec: AwsSpec>;

    /// What the kind has besides its calls, without the features that its spec declares. A creation is idempotent by a token, or by a unique
    /// name ([`Creation::name`]); a deleted object is shown as [`super::Phase::Deleted`].
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

    /// Pure. As [`kraken_kind::Kind::edit_of`].
    fn edit_of(before: &SpecOf<Self>, after: &SpecOf<Self>, field: &str) -> Edit {
        AwsSpec::edit_of(before, after, field)
    }

    /// Pure. As [`kraken_kind::Kind::contains`].
    fn contains(_: &SpecOf<Self>) -> Cow<'static, str> {
        Self::FEATURES.contains.into()
    }

    /// Pure. As [`kraken_kind::Kind::own_secret`].
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

    /// Pure. As [`kraken_kind::Kind::describe_change`], with the ids of the changed objects.
    fn describe_change(_: &ChangeOf<Self>, _: &[String]) -> Option<String> {
        None
    }

    /// Pure. As [`kraken_kind::Kind::disrupted`].
    fn disrupted(_: &[&ObservedOf<Self>]) -> (Vec<String>, bool) {
        (vec![], false)
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
    /// [`kraken_kind::ObserveRequest::deep`].
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

    /// Creates the objects that are missing besides the existing ones.
    fn create_all(
        aws: &Aws,
        desired: &DesiredOf<Self>,
        creation: &Creation<'_>,
        _existing: usize,
    ) -> impl Future<Output = Result<Vec<ObservedOf<Self>>, Failure>> + Send {
        async move { Ok(vec![Self::create(aws, desired, creation).await?]) }
    }

    /// Performs one change. All changes are idempotent.
    fn update(
        aws: &Aws,
        change: &ChangeOf<Self>,
        desired: &DesiredOf<Self>,
        object: &ObservedOf<Self>,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Performs one change of these objects.
    fn update_all(
        aws: &Aws,
        change: &ChangeOf<Self>,
        desired: &DesiredOf<Self>,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async move {
            for object in objects {
                Self::update(aws, change, desired, object).await?;
            }
            Ok(())
        }
    }

    /// As [`kraken_kind::Calls::hand_over`], of one replaced object.
    fn hand_over(
        _: &Aws,
        _: &DesiredOf<Self>,
        _replaced: &ObservedOf<Self>,
    ) -> impl Future<Output = Result<Option<String>, Failure>> + Send {
        ready(Ok(None))
    }

    /// As [`kraken_kind::Calls::resume`].
    fn start(_: &Aws, _: &[&ObservedOf<Self>]) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Pure. As [`kraken_kind::Kind::to_delete`], of one object.
    fn to_delete(_: &SpecOf<Self>, _: &mut ObservedOf<Self>) {}

    /// Pure. As [`kraken_kind::Kind::unprotected_by`].
    fn unprotected_by(_: &SpecOf<Self>) -> Option<&'static str> {
        None
    }

    /// Disables AWS's deletion protection of an object, as [`kraken_kind::Calls::unprotect`].
    fn unprotect(_: &Aws, _: &ObservedOf<Self>) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Requests its deletion. Objects that no longer exist are excluded before.
    fn delete(aws: &Aws, object: &ObservedOf<Self>) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Requests the deletion of these objects. Returns the ids that AWS does not find, as [`kraken_kind::Calls::delete`].
    fn delete_all(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<Vec<String>, Failure>> + Send {
        async move {
            let (mut unknown, mut first) = (vec![], None);
            for object in objects {
                match Self::delete(aws, object).await {
                    // Also if another object of the deletion is not found, such as the VPC of a gateway: neither was changed.
                    Err(failure) if is_invalid_id(&failure) => unknown.push(object.id().to_owned()),
                    // One that is still in use keeps no other one.
                    Err(failure) => first = first.or(Some(failure)),
                    Ok(()) => {}
                }
            }
            first.map_or(Ok(unknown), Err)
        }
    }

    /// Sets tags of an object. By default, an object of EC2.
    fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::set(aws, id, tags)
    }

    /// Sets tags of these objects.
    fn set_tags_of_all(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        tags: &Tags,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async move {
            for object in objects {
                Self::set_tags(aws, object.tagged_as(), tags).await?;
            }
            Ok(())
        }
    }

    /// Removes tags of an object. By default, an object of EC2.
    fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::remove(aws, id, keys)
    }

    /// Removes a tag of these objects.
    fn remove_tag_of_all(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        key: &str,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async move {
            for object in objects {
                Self::remove_tags(aws, object.tagged_as(), &[key]).await?;
            }
            Ok(())
        }
    }

    /// Sets the tags of the identity, and others of Kraken, on objects that are adopted or have lost them.
    fn claim_all(
        aws: &Aws,
        objects: &[&ObservedOf<Self>],
        tags: &Tags,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        Self::set_tags_of_all(aws, objects, tags)
    }

    /// Removes Kraken's tags. An object that is not found is a transient failure: it was observed before.
    fn release_all(
        aws: &Aws,
        _: &Identity,
        objects: &[&ObservedOf<Self>],
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        async move {
            let keys = [&KEYS, Self::OWN_KEYS].concat();
            for object in objects {
                Self::remove_tags(aws, object.tagged_as(), &keys).await.map_err(lagging)?;
            }
            Ok(())
        }
    }
}

/// The query for the objects in a VPC; none if the id is not that of a VPC, or the kind has no such filter.
fn in_vpc(filter_name: &str, place: &str) -> Option<DescribeQuery> {
    let is_vpc = place.starts_with("vpc-") && !filter_name.is_empty();
    is_vpc.then(|| DescribeQuery::with(filter_name, place))
}
