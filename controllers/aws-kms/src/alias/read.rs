//! Reads of aliases: one list of all, and the tags of their keys.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{Tags, lookup_kind::passing, prelude::*};

use super::observed::{Alias, RESERVED};
use crate::kms::{self, AT_ONCE, KmsClients as _};

/// The maximum page size.
const PAGE: i32 = 100;

pub(super) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Alias>, Failure> {
    let mut found = listed(aws).await?;
    let Some(names) = query.ids else {
        let keys = kms::tags_of_all(aws).await?;
        let owned = found.into_iter().map(|alias| with_owner(alias, &keys)).collect();
        return Ok(passing(query.filters.as_deref(), owned));
    };
    found.retain(|alias| names.contains(&alias.alias_name));
    let keys: BTreeSet<String> = found.iter().map(|alias| alias.target_key_id.clone()).collect();
    let each = keys.into_iter().map(|key| async move {
        let tags = kms::tags_of(aws, &key).await?;
        Ok::<_, Failure>((key, tags.unwrap_or_default()))
    });
    let targets: BTreeMap<String, Tags> = stream::iter(each).buffered(AT_ONCE).try_collect().await?;
    let of_target =
        |alias: &Alias| alias.owned_by_tags_of(&alias.target_key_id, targets.get(&alias.target_key_id)?);
    if found.iter().all(|alias| of_target(alias).is_some()) {
        return Ok(found.iter().filter_map(of_target).collect());
    }
    // It has no owner; or somebody changed its target, and the key before has the tag.
    let keys = kms::tags_of_all(aws).await?;
    Ok(found.into_iter().map(|alias| of_target(&alias).unwrap_or_else(|| with_owner(alias, &keys))).collect())
}

/// The alias with the owner that a tag of its key, or else of another one, has.
fn with_owner(alias: Alias, keys: &[(String, Tags)]) -> Alias {
    let (targets, others): (Vec<_>, Vec<_>) = keys.iter().partition(|(key, _)| *key == alias.target_key_id);
    let mut keys = targets.into_iter().chain(others);
    keys.find_map(|(key, tags)| alias.owned_by_tags_of(key, tags)).unwrap_or(alias)
}

/// The alias with this name, with its owner; none if it does not exist.
pub(super) async fn one(aws: &Aws, name: &str) -> Result<Option<Alias>, Failure> {
    Ok(read(aws, DescribeQuery::of(name)).await?.pop())
}

/// All aliases of the account and region, besides AWS's own, without owners.
pub(super) async fn listed(aws: &Aws) -> Result<Vec<Alias>, Failure> {
    let pages = aws.kms().list_aliases().limit(PAGE).into_paginator().send();
    let mut found: Vec<Alias> =
        aws.items("ListAliases", "failed to list aliases", pages, |page| page.aliases).await?;
    found.retain(|alias| !alias.alias_name.starts_with(RESERVED) && !alias.target_key_id.is_empty());
    Ok(found)
}
