//! The calls of hosted zones.

use kraken_aws::{
    Tags,
    errors::undecided,
    fields::listed,
    items::sorted,
    lookup_kind::passing,
    missing::{existing, is_invalid_id},
    prelude::*,
    tags::CLUSTER,
};

use super::{
    api::{self, Change, Desired},
    observed::Zone,
    reference,
};
use crate::{
    dns::{
        AT_ONCE, DnsClients as _, records, tags_of,
        types::{HostedZoneConfig, Tag, TagResourceType},
        zones,
    },
    names::canonical,
};

const CREATE: &str = "failed to create the hosted zone";

/// The kind HostedZone.
pub(crate) struct HostedZones;

impl AwsResource for HostedZones {
    type Kind = api::HostedZone;
    /// By the reference of the caller.
    const FEATURES: Features = Features { is_idempotent: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn not_importable(zone: &Zone) -> Option<String> {
        let is_private = zone.config.as_ref().is_some_and(|config| config.private_zone);
        is_private.then(|| "it is a private zone, which is not supported".to_owned())
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Zone>, Failure> {
        if let Some(ids) = query.ids {
            return with_tags(aws, described(aws, ids).await?).await;
        }
        let listed = zones(aws).await?.into_iter().map(Zone::from).collect();
        let found = passing(query.filters.as_deref(), with_tags(aws, listed).await?);
        let complete = described(aws, found.iter().map(|zone| zone.id.clone()).collect()).await?;
        let with_tags = |mut zone: Zone| {
            zone.tags.clone_from(&found.iter().find(|found| found.id == zone.id)?.tags);
            Some(zone)
        };
        Ok(complete.into_iter().filter_map(with_tags).collect())
    }

    /// The tags follow the creation. If they are not set, the reference has the identity.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Zone, Failure> {
        let Desired { name, comment } = desired;
        let config = exposed(comment.as_ref()).map(|text| HostedZoneConfig::builder().comment(text).build());
        let call = aws
            .dns_once()
            .create_hosted_zone()
            .name(name.expose())
            .caller_reference(reference::of(creation.tags))
            .set_hosted_zone_config(config);
        let made = aws.call("CreateHostedZone", CREATE, call.send()).await?;
        let made = made.hosted_zone.map(Zone::from).unwrap_or_default();
        Self::set_tags(aws, &made.id, creation.tags).await.map_err(undecided)?;
        Ok(Zone { tags: creation.tags.clone(), ..made })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, zone: &Zone) -> Result<(), Failure> {
        let Change::Comment = change;
        let call = aws
            .dns()
            .update_hosted_zone_comment()
            .id(&zone.id)
            .set_comment(exposed(desired.comment.as_ref()));
        aws.call("UpdateHostedZoneComment", "failed to change the comment", call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, zone: &Zone) -> Result<(), Failure> {
        let call = aws.dns().delete_hosted_zone().id(&zone.id);
        match aws.call("DeleteHostedZone", "failed to delete the hosted zone", call.send()).await {
            Err(failure) if failure.code == "HostedZoneNotEmpty" => Err(not_empty(aws, zone, failure).await),
            answer => answer.map(drop),
        }
    }

    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        change_tags(aws, id, tags.iter().map(|(key, value)| (key.as_str(), value.as_str())), &[]).await
    }

    /// A zone that is released keeps one tag, if its reference would name the owner otherwise.
    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        let mut keys = keys.to_vec();
        let mut kept = None;
        if keys.contains(&CLUSTER) && is_of_kraken(aws, id).await? {
            keys.retain(|key| *key != CLUSTER);
            kept = Some((CLUSTER, reference::RELEASED));
        }
        change_tags(aws, id, kept.into_iter(), &keys).await
    }
}

async fn is_of_kraken(aws: &Aws, id: &str) -> Result<bool, Failure> {
    let found = described(aws, vec![id.to_owned()]).await?;
    Ok(found.first().is_some_and(|zone| reference::identity(&zone.caller_reference).is_some()))
}

async fn change_tags(
    aws: &Aws,
    id: &str,
    tags: impl Iterator<Item = (&str, &str)>,
    removed: &[&str],
) -> Result<(), Failure> {
    let tags: Vec<Tag> = tags.map(|(key, value)| Tag::builder().key(key).value(value).build()).collect();
    let removed: Vec<String> = removed.iter().map(|key| (*key).to_owned()).collect();
    let call = aws
        .dns()
        .change_tags_for_resource()
        .resource_type(TagResourceType::Hostedzone)
        .resource_id(id)
        .set_add_tags(Some(tags).filter(|tags| !tags.is_empty()))
        .set_remove_tag_keys(Some(removed).filter(|keys| !keys.is_empty()));
    aws.call("ChangeTagsForResource", "failed to change tags", call.send()).await.map(drop)
}

/// The zones with these ids that exist, with their name servers and without tags.
pub(crate) async fn described(aws: &Aws, ids: Vec<String>) -> Result<Vec<Zone>, Failure> {
    let each = ids.into_iter().map(|id| async move {
        let call = aws.dns().get_hosted_zone().id(&id);
        match aws.call("GetHostedZone", "failed to read the hosted zone", call.send()).await {
            Err(failure) if is_invalid_id(&failure) || failure.code == "InvalidInput" => Ok(None),
            Err(failure) => Err(failure),
            Ok(found) => {
                let name_servers = sorted(found.delegation_set.map(|set| set.name_servers));
                Ok(found.hosted_zone.map(|zone| Zone { name_servers, ..zone.into() }))
            }
        }
    });
    existing(AT_ONCE, each).await
}

/// The same zones with their tags, or the identity in their references.
pub(crate) async fn with_tags(aws: &Aws, zones: Vec<Zone>) -> Result<Vec<Zone>, Failure> {
    let ids: Vec<String> = zones.iter().map(|zone| zone.id.clone()).collect();
    let mut tags = tags_of(aws, &ids).await?;
    let tagged = |zone: Zone| {
        let tags =
            reference::with_identity(tags.remove(&zone.id).unwrap_or_default(), &zone.caller_reference);
        Zone { tags, ..zone }
    };
    Ok(zones.into_iter().map(tagged).collect())
}

/// AWS's error for the deletion of a zone with records, which are those of others: Kraken's are deleted before. The error is unchanged if
/// they cannot be determined.
async fn not_empty(aws: &Aws, zone: &Zone, failure: Failure) -> Failure {
    let Ok(found) = records(aws, &zone.id, None, None).await else { return failure };
    let others = found.iter().filter(|one| {
        !matches!(one.r#type.as_str(), "NS" | "SOA") || canonical(&one.name) != canonical(&zone.name)
    });
    let others: Vec<String> =
        others.map(|one| format!("{} {}", canonical(&one.name), one.r#type.as_str())).collect();
    if others.is_empty() {
        return failure;
    }
    let message = format!("{}: delete its records first: {}", failure.message, listed(&others));
    Failure { message, ..failure }
}
