//! The calls of look-ups of hosted zones. All look-ups of an account share one list of its zones, 100 in a call; only those of the name are
//! read completely: one call for each, and one for the tags of ten.

use kraken_aws::{
    AwsLookup,
    lookup_kind::{Search, passes, tag, tags_apart},
    prelude::*,
};

use super::api::{self, Desired};
use crate::{
    dns::zones,
    hosted_zone::{Zone, described, with_tags},
    names::canonical,
};

const NAME: &str = "name";
const IS_PRIVATE: &str = "is-private";

/// The kind HostedZoneLookup.
pub(crate) struct HostedZoneLookups;

impl AwsLookup for HostedZoneLookups {
    type Kind = api::HostedZoneLookup;
    const SHARED: &[&str] = &[NAME];

    fn search(desired: &Desired) -> Search {
        let Desired { name, is_private, tags: _, pin: _ } = desired;
        let is_private = is_private.as_ref().is_some_and(|one| *one.expose());
        Search::default()
            .with(NAME, Some(&canonical(name.expose())))
            .with(IS_PRIVATE, Some(if is_private { "true" } else { "false" }))
    }

    fn value<'o>(zone: &'o Zone, filter: &str) -> Option<&'o str> {
        let is_private = zone.config.as_ref().is_some_and(|config| config.private_zone);
        match filter {
            NAME => Some(zone.name.strip_suffix('.').unwrap_or(&zone.name)),
            IS_PRIVATE => Some(if is_private { "true" } else { "false" }),
            _ => None,
        }
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<Zone>, Failure> {
        if let Some(ids) = query.ids {
            return with_tags(aws, described(aws, ids).await?).await;
        }
        let (of_tags, others) = tags_apart(query.filters.unwrap_or_default());
        let mut found: Vec<Zone> = zones(aws).await?.into_iter().map(Zone::from).collect();
        found.retain(|zone| passes(&others, |name| Self::value(zone, name)));
        let complete = described(aws, found.into_iter().map(|zone| zone.id).collect()).await?;
        let mut complete = with_tags(aws, complete).await?;
        complete.retain(|zone| passes(&of_tags, |name| tag(&zone.tags, name)));
        Ok(complete)
    }

    fn words(zone: &Zone) -> Option<String> {
        zone.config.as_ref().and_then(|config| config.comment.clone()).filter(|comment| !comment.is_empty())
    }
}
