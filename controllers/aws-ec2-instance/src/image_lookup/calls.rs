//! The filters and the call of image look-ups.

use std::collections::BTreeSet;

use kraken_aws::{Aws, AwsLookup, lookup_kind::Search, resource::DescribeQuery};
use kraken_kind::Failure;

use super::{
    api::{self, Desired},
    observed::Image,
};

/// The kind ImageLookup.
pub(crate) struct ImageLookups;

impl AwsLookup for ImageLookups {
    type Kind = api::ImageLookup;
    const SHARED: &[&str] = &["name"];

    fn search(desired: &Desired) -> Search {
        let Desired { owner, name, architecture, tags: _, pin: _ } = desired;
        Search::of_owner(owner.expose())
            .like("name", Some(name.expose()))
            .with("state", Some("available"))
            .with("architecture", architecture.as_ref().map(|one| one.expose().as_str()))
    }

    fn value<'o>(image: &'o Image, filter: &str) -> Option<&'o str> {
        (filter == "name").then_some(image.name.as_deref()).flatten()
    }

    async fn read(aws: &Aws, owners: Vec<String>, query: DescribeQuery) -> Result<Vec<Image>, Failure> {
        // An image that is published stays so when its owner deprecates it, and can still be launched.
        let is_by_id = query.ids.is_some();
        let mut call = aws.ec2().describe_images().include_deprecated(is_by_id);
        call = call.set_image_ids(query.ids).set_filters(query.filters);
        if !owners.is_empty() {
            call = call.set_owners(Some(owners));
        }
        let pages = call.into_paginator().send();
        aws.items("DescribeImages", "failed to describe images", pages, |page| page.images).await
    }

    fn choose<'o>(desired: &Desired, found: Vec<&'o Image>) -> Result<Vec<&'o Image>, String> {
        let architectures: BTreeSet<&str> =
            found.iter().filter_map(|image| image.architecture.as_deref()).collect();
        if desired.architecture.is_none() && architectures.len() > 1 {
            let all: Vec<&str> = architectures.into_iter().collect();
            return Err(format!(
                "they are of the architectures {}: set spec.architecture",
                all.join(" and ")
            ));
        }
        let newest = found.into_iter().max_by_key(|image| (&image.creation_date, &image.image_id));
        Ok(newest.into_iter().collect())
    }

    fn words(image: &Image) -> Option<String> {
        let created = image.creation_date.as_deref().map(|date| date.split('T').next().unwrap_or(date));
        let parts: Vec<&str> = image.name.as_deref().into_iter().chain(created).collect();
        (!parts.is_empty()).then(|| parts.join(", "))
    }
}
