//! Reads of record sets. Each belongs to a zone, of which one call returns 300: a few are read one by one, more with all of their zone, and a
//! search reads all zones of the account.

use std::collections::{BTreeMap, BTreeSet};

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{Aws, lookup_kind::passing, missing::or_nothing, prelude::*};

use super::{id::RecordId, marker, observed::Record};
use crate::{
    dns::{AT_ONCE, PAGE, bare_id, records, types::ResourceRecordSet, zones},
    names::canonical,
};

/// The number of record sets of a zone from which on all of its records are read.
const FEW: usize = 3;
/// How many records are read for one without a set identifier. A call returns up to 300, so that those of a set are found wherever it begins.
const ONE: i32 = 1;

/// The objects of a query of [`kraken_aws::AwsResource::read`].
pub(super) async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Record>, Failure> {
    let Some(ids) = query.ids else {
        let zones: Vec<String> = zones(aws).await?.iter().map(|zone| bare_id(&zone.id).to_owned()).collect();
        let each = zones.into_iter().map(|zone| async move { in_zone(aws, &zone).await });
        let found: Vec<Vec<Record>> = stream::iter(each).buffered(AT_ONCE).try_collect().await?;
        return Ok(passing(query.filters.as_deref(), found.concat()));
    };
    let mut by_zone = BTreeMap::<String, BTreeSet<RecordId>>::new();
    for id in ids.iter().filter_map(|id| RecordId::parse(id)) {
        by_zone.entry(id.zone.clone()).or_default().insert(id);
    }
    let mut found = vec![];
    for (zone, ids) in by_zone {
        if ids.len() <= FEW {
            for id in ids {
                found.extend(one(aws, &id).await?);
            }
        } else {
            let all = in_zone(aws, &zone).await?;
            found.extend(all.into_iter().filter(|record| ids.contains(&record.record_id())));
        }
    }
    Ok(found)
}

/// The record set with this id, if it or the record of its owner exists.
pub(super) async fn one(aws: &Aws, id: &RecordId) -> Result<Option<Record>, Failure> {
    let (record, marker) = (exactly(aws, id).await?, marker(aws, id).await?);
    let exists = record.is_some() || marker.is_some();
    Ok(exists.then(|| Record::of(id, record.as_ref(), marker.as_ref())))
}

/// The record of the owner.
pub(super) async fn marker(aws: &Aws, id: &RecordId) -> Result<Option<ResourceRecordSet>, Failure> {
    exactly(aws, &RecordId::new(&id.zone, &marker::name(id), "TXT")).await
}

/// The record itself.
pub(super) async fn exactly(aws: &Aws, id: &RecordId) -> Result<Option<ResourceRecordSet>, Failure> {
    let most = if id.set.is_some() { PAGE } else { ONE };
    let found = records(aws, &id.zone, Some((&id.name, &id.kind, id.set.as_deref())), Some(most)).await;
    Ok(or_nothing(found)?.into_iter().find(|record| id_of(&id.zone, record) == *id))
}

/// All record sets of a zone; none if it does not exist.
async fn in_zone(aws: &Aws, zone: &str) -> Result<Vec<Record>, Failure> {
    let all = or_nothing(records(aws, zone, None, None).await)?;
    let (mut markers, mut found) = (BTreeMap::new(), BTreeMap::new());
    for record in &all {
        let id = id_of(zone, record);
        match marker::subject(zone, &id.name).filter(|_| id.kind == "TXT") {
            Some(subject) => markers.insert(subject, record),
            None => found.insert(id, record),
        };
    }
    let ids: BTreeSet<&RecordId> = markers.keys().chain(found.keys()).collect();
    let record = |id: &RecordId| Record::of(id, found.get(id).copied(), markers.get(id).copied());
    Ok(ids.into_iter().map(record).collect())
}

fn id_of(zone: &str, record: &ResourceRecordSet) -> RecordId {
    RecordId::new(zone, &canonical(&record.name), record.r#type.as_str())
        .of_set(record.set_identifier.clone())
}
