//! The API of Route 53, and the calls that both kinds make. It is global: the SDK derives its endpoint from the partition of the region.

use std::collections::BTreeMap;

use aws_sdk_route53::Client;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{Aws, Tags, aws_service};
use kraken_kind::Failure;
use types::{HostedZone, ResourceRecordSet, RrType, Tag, TagResourceType};

pub(crate) use aws_sdk_route53::types;

aws_service!(pub(crate) DnsApi, aws_sdk_route53, "route53");

/// The number of concurrent calls: an account has five per second for everything.
pub(crate) const AT_ONCE: usize = 4;
/// The number of zones whose tags one call returns.
const ZONES_PER_CALL: usize = 10;
/// The maximum page size of records.
pub(crate) const PAGE: i32 = 300;
/// The same of zones.
const ZONES_PAGE: i32 = 100;

/// Its clients, used like those of EC2: pass the future of a call to [`Aws::call`].
pub(crate) trait DnsClients {
    /// The client, to build a call.
    fn dns(&self) -> Client;
    /// The same for create calls, with one attempt.
    fn dns_once(&self) -> Client;
}

impl DnsClients for Aws {
    fn dns(&self) -> Client {
        self.client::<DnsApi>()
    }

    fn dns_once(&self) -> Client {
        self.client_once::<DnsApi>()
    }
}

/// The id of a zone without the prefix of some responses.
pub(crate) fn bare_id(id: &str) -> &str {
    id.strip_prefix("/hostedzone/").unwrap_or(id)
}

/// All zones of the account.
pub(crate) async fn zones(aws: &Aws) -> Result<Vec<HostedZone>, Failure> {
    let pages = aws.dns().list_hosted_zones().max_items(ZONES_PAGE).into_paginator().send();
    let action = "failed to list hosted zones";
    aws.items("ListHostedZones", action, pages, |page| Some(page.hosted_zones)).await
}

/// The tags of zones that exist, by their ids.
pub(crate) async fn tags_of(aws: &Aws, zones: &[String]) -> Result<BTreeMap<String, Tags>, Failure> {
    let chunks: Vec<Vec<String>> = zones.chunks(ZONES_PER_CALL).map(<[String]>::to_vec).collect();
    let each = chunks.into_iter().map(|ids| async move {
        let call = aws.dns().list_tags_for_resources().resource_type(TagResourceType::Hostedzone);
        let call = call.set_resource_ids(Some(ids)).send();
        aws.call("ListTagsForResources", "failed to list the tags of hosted zones", call).await
    });
    let pages: Vec<_> = stream::iter(each).buffered(AT_ONCE).try_collect().await?;
    let sets = pages.into_iter().flat_map(|page| page.resource_tag_sets);
    Ok(sets.map(|set| (set.resource_id.unwrap_or_default(), from_sdk(set.tags))).collect())
}

fn from_sdk(tags: Option<Vec<Tag>>) -> Tags {
    let pair = |tag: Tag| (tag.key.unwrap_or_default(), tag.value.unwrap_or_default());
    tags.unwrap_or_default().into_iter().map(pair).collect()
}

/// Records of a zone, from this name, type and set identifier on: `most` of them, or all.
pub(crate) async fn records(
    aws: &Aws,
    zone: &str,
    from: Option<(&str, &str, Option<&str>)>,
    most: Option<i32>,
) -> Result<Vec<ResourceRecordSet>, Failure> {
    let (mut name, mut kind) =
        (from.map(|(name, ..)| name.to_owned()), from.map(|(_, kind, _)| RrType::from(kind)));
    let (mut identifier, mut found) = (from.and_then(|(.., set)| set.map(str::to_owned)), vec![]);
    loop {
        let call = aws
            .dns()
            .list_resource_record_sets()
            .hosted_zone_id(zone)
            .set_start_record_name(name)
            .set_start_record_type(kind)
            .set_start_record_identifier(identifier)
            .max_items(most.unwrap_or(PAGE));
        let page = aws.call("ListResourceRecordSets", "failed to list records", call.send()).await?;
        found.extend(page.resource_record_sets);
        if !page.is_truncated || most.is_some() {
            return Ok(found);
        }
        (name, kind, identifier) =
            (page.next_record_name, page.next_record_type, page.next_record_identifier);
    }
}
