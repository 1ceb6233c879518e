//! A kind with one object per resource as one with several objects: each call is made for each of them. There is more than
//! one only until surplus objects are deleted.

use std::borrow::Cow;

use kraken_spoke::{Edit, Failure, Features, Identity, OwnSecret};

use super::{
    AwsObjects, AwsResource, ChangeOf, Creation, DescribeQuery, DesiredOf, ObservedOf, RemoteObject, SpecOf,
};
use crate::{
    Aws,
    lookup::Tagged,
    missing::is_invalid_id,
    release::lagging,
    tags::{KEYS, Tags},
};

impl<S: AwsResource> AwsObjects for S {
    type Kind = <S as AwsResource>::Kind;
    const FEATURES: Features = S::FEATURES;
    const NAMED_BY: &'static str = S::NAMED_BY;
    const IN_VPC: &'static str = S::IN_VPC;
    const IMPORTS_DEEP: bool = S::IMPORTS_DEEP;
    const HIDDEN: &[&str] = S::HIDDEN;

    fn edit_of(before: &SpecOf<S>, after: &SpecOf<S>, field: &str) -> Edit {
        S::edit_of(before, after, field)
    }

    fn contains(spec: &SpecOf<S>) -> Cow<'static, str> {
        S::contains(spec)
    }

    fn own_secret(spec: &SpecOf<S>) -> Option<OwnSecret> {
        S::own_secret(spec)
    }

    fn not_importable(object: &ObservedOf<S>) -> Option<String> {
        S::not_importable(object)
    }

    fn import_notes(object: &ObservedOf<S>) -> Vec<String> {
        S::import_notes(object)
    }

    async fn within(aws: &Aws, place: &str) -> Result<Vec<ObservedOf<S>>, Failure> {
        S::within(aws, place).await
    }

    async fn unsupported(aws: &Aws, place: &str) -> Vec<String> {
        S::unsupported(aws, place).await
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<ObservedOf<S>>, Failure> {
        S::read(aws, query).await
    }

    async fn complete(aws: &Aws, object: &mut ObservedOf<S>, deep: bool) -> Result<(), Failure> {
        S::complete(aws, object, deep).await
    }

    async fn create(
        aws: &Aws,
        desired: &DesiredOf<S>,
        creation: &Creation<'_>,
        _existing: usize,
    ) -> Result<Vec<ObservedOf<S>>, Failure> {
        Ok(vec![S::create(aws, desired, creation).await?])
    }

    async fn update(
        aws: &Aws,
        change: &ChangeOf<S>,
        desired: &DesiredOf<S>,
        objects: &[&ObservedOf<S>],
    ) -> Result<(), Failure> {
        for object in objects {
            S::update(aws, change, desired, object).await?;
        }
        Ok(())
    }

    async fn hand_over(
        aws: &Aws,
        desired: &DesiredOf<S>,
        replaced: &ObservedOf<S>,
    ) -> Result<Option<String>, Failure> {
        S::hand_over(aws, desired, replaced).await
    }

    fn to_delete(spec: &SpecOf<S>, object: &mut ObservedOf<S>) {
        S::to_delete(spec, object);
    }

    fn unprotected_by(spec: &SpecOf<S>) -> Option<&'static str> {
        S::unprotected_by(spec)
    }

    async fn unprotect(aws: &Aws, object: &ObservedOf<S>) -> Result<(), Failure> {
        S::unprotect(aws, object).await
    }

    async fn delete(aws: &Aws, objects: &[&ObservedOf<S>]) -> Result<Vec<String>, Failure> {
        let (mut unknown, mut first) = (vec![], None);
        for object in objects {
            match S::delete(aws, object).await {
                // Also if another object of the deletion is not found, such as the VPC of a gateway: neither was changed.
                Err(failure) if is_invalid_id(&failure) => unknown.push(object.id().to_owned()),
                // One that is still in use keeps no other one.
                Err(failure) => first = first.or(Some(failure)),
                Ok(()) => {}
            }
        }
        first.map_or(Ok(unknown), Err)
    }

    async fn set_tags(aws: &Aws, objects: &[&ObservedOf<S>], tags: &Tags) -> Result<(), Failure> {
        for object in objects {
            S::set_tags(aws, object.tagged_as(), tags).await?;
        }
        Ok(())
    }

    async fn remove_tag(aws: &Aws, objects: &[&ObservedOf<S>], key: &str) -> Result<(), Failure> {
        for object in objects {
            S::remove_tags(aws, object.tagged_as(), &[key]).await?;
        }
        Ok(())
    }

    async fn claim(aws: &Aws, objects: &[&ObservedOf<S>], tags: &Tags) -> Result<(), Failure> {
        <S as AwsObjects>::set_tags(aws, objects, tags).await
    }

    async fn release(aws: &Aws, _: &Identity, objects: &[&ObservedOf<S>]) -> Result<(), Failure> {
        for object in objects {
            let keys = [&KEYS, S::OWN_KEYS].concat();
            S::remove_tags(aws, object.tagged_as(), &keys).await.map_err(lagging)?;
        }
        Ok(())
    }
}
