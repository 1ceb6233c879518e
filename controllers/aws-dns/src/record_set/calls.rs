//! The calls of record sets. A change batch is atomic: a record and the record of its owner are created together, or none of them, and
//! neither if one of both exists.

use kraken_aws::{Tags, prelude::*};
use kraken_kind::FailureClass;

use super::{
    api::{self, Change, Desired},
    id::RecordId,
    marker,
    observed::{AliasTarget, Record},
    read,
};
use crate::{
    dns::{
        DnsClients as _,
        types::{self, ChangeAction, ChangeBatch, ResourceRecordSet},
    },
    names::SET_IDENTIFIER,
};

const CREATE: &str = "failed to create the record set";
/// The time to live of values, in seconds, if the spec has none.
const TTL: i32 = 300;

/// The kind RecordSet.
pub(crate) struct RecordSets;

impl AwsResource for RecordSets {
    type Kind = api::RecordSet;
    /// By its name, type and set identifier, which are unique in the zone.
    const FEATURES: Features = Features { is_idempotent: true, idempotent_by_name: true, ..Features::NONE };
    const IN_VPC: &'static str = "";

    fn not_importable(record: &Record) -> Option<String> {
        if record.is_routed_otherwise {
            return Some("of the routing policies, only weight and failover are supported".to_owned());
        }
        if record.set_identifier.as_ref().is_some_and(|set| SET_IDENTIFIER.check(set).is_err()) {
            return Some(
                "its set identifier has other characters than lowercase letters, digits, - and _".to_owned(),
            );
        }
        (record.r#type == "SOA").then(|| "its zone has it without a resource".to_owned())
    }

    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Record>, Failure> {
        read::read(aws, query).await
    }

    /// The name is read first, so that its holder is named, and not only refused by AWS.
    async fn create(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<Record, Failure> {
        let Desired { zone_id, name, record_type, set_identifier, .. } = desired;
        let id = RecordId::new(zone_id.expose(), name.expose(), record_type.expose())
            .of_set(exposed(set_identifier.as_ref()));
        if let Some(holder) = read::one(aws, &id).await? {
            return Err(taken(&id, &holder, creation, String::new()));
        }
        let record = record(&id, desired, None)?;
        let changes = [Some(record), marker::record(&id, creation.tags)].into_iter().flatten();
        let changes = changes.map(|record| (ChangeAction::Create, record)).collect();
        match change(aws, &id.zone, changes, CREATE, true).await {
            // Somebody else was faster, or a former attempt of this launch.
            Err(failure) if is_refused(&failure) => match read::one(aws, &id).await {
                Ok(Some(holder)) => Err(taken(&id, &holder, creation, failure.message)),
                _ => Err(failure),
            },
            Err(failure) => Err(failure),
            Ok(()) => Ok(Record { tags: creation.tags.clone(), ..Record::of(&id, None, None) }),
        }
    }

    async fn update(aws: &Aws, wanted: &Change, desired: &Desired, found: &Record) -> Result<(), Failure> {
        let Change::Record = wanted;
        let record = record(&found.record_id(), desired, Some(found))?;
        let changes = vec![(ChangeAction::Upsert, record)];
        change(aws, &found.hosted_zone_id, changes, "failed to change the record set", false).await
    }

    /// A deletion names the exact values: it fails if they changed since, and is repeated with those that are observed then.
    async fn delete(aws: &Aws, found: &Record) -> Result<(), Failure> {
        let id = found.record_id();
        let record = if found.exists { read::exactly(aws, &id).await? } else { None };
        let both = [record, read::marker(aws, &id).await?].into_iter().flatten();
        let changes: Vec<_> = both.map(|record| (ChangeAction::Delete, record)).collect();
        if changes.is_empty() {
            return Ok(());
        }
        match change(aws, &id.zone, changes, "failed to delete the record set", false).await {
            Err(failure) if is_refused(&failure) => Err(Failure { class: FailureClass::NotYet, ..failure }),
            answer => answer,
        }
    }

    /// The record of an owner is created if there is none: of two that adopt a record, one is refused.
    async fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.extend(tags.clone())).await
    }

    async fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> Result<(), Failure> {
        write_marker(aws, id, |all| all.retain(|key, _| !keys.contains(&key.as_str()))).await
    }
}

/// Changes the tags in the record of an owner; without tags, it is deleted.
async fn write_marker(aws: &Aws, id: &str, edit: impl FnOnce(&mut Tags)) -> Result<(), Failure> {
    let Some(id) = RecordId::parse(id) else { return Ok(()) };
    let before = read::marker(aws, &id).await?;
    let mut tags = before.as_ref().map(marker::tags).unwrap_or_default();
    edit(&mut tags);
    let changed = match (before, marker::record(&id, &tags)) {
        (None, Some(after)) => (ChangeAction::Create, after),
        (Some(_), Some(after)) => (ChangeAction::Upsert, after),
        (Some(before), None) => (ChangeAction::Delete, before),
        (None, None) => return Ok(()),
    };
    change(aws, &id.zone, vec![changed], "failed to change the record of the owner", false).await
}

async fn change(
    aws: &Aws,
    zone: &str,
    changes: Vec<(ChangeAction, ResourceRecordSet)>,
    action: &str,
    is_creation: bool,
) -> Result<(), Failure> {
    let one = |(action, record)| types::Change::builder().action(action).resource_record_set(record).build();
    let changes = changes.into_iter().map(one).collect::<Result<Vec<_>, _>>();
    let batch = changes.and_then(|changes| ChangeBatch::builder().set_changes(Some(changes)).build());
    let client = if is_creation { aws.dns_once() } else { aws.dns() };
    let call = client.change_resource_record_sets().hosted_zone_id(zone);
    let call = call.change_batch(batch.map_err(incomplete)?).send();
    aws.call("ChangeResourceRecordSets", action, call).await.map(drop)
}

/// The record of a spec. What the spec does not say is as it was found.
fn record(id: &RecordId, desired: &Desired, found: Option<&Record>) -> Result<ResourceRecordSet, Failure> {
    let weight = exposed(desired.weight.as_ref());
    let failover = exposed(desired.failover.as_ref());
    let check =
        exposed(desired.health_check_id.as_ref()).or(found.and_then(|found| found.health_check_id.clone()));
    let record = ResourceRecordSet::builder()
        .name(&id.name)
        .r#type(id.kind.as_str().into())
        .set_set_identifier(id.set.clone())
        .set_weight(weight.map(i64::from))
        .set_failover(failover.as_deref().map(Into::into))
        .set_health_check_id(check);
    if let Some(target) = &desired.alias {
        let AliasTarget { hosted_zone_id, dns_name, evaluate_target_health } = target.expose();
        let target = types::AliasTarget::builder().hosted_zone_id(hosted_zone_id).dns_name(dns_name);
        let target = target.evaluate_target_health(*evaluate_target_health).build().map_err(incomplete)?;
        return record.alias_target(target).build().map_err(incomplete);
    }
    let ttl = exposed(desired.ttl_seconds.as_ref()).or(found.and_then(|found| found.ttl)).unwrap_or(TTL);
    let one = |value: &String| types::ResourceRecord::builder().value(value).build();
    let values = exposed(desired.values.as_ref()).unwrap_or_default();
    let values = values.iter().map(one).collect::<Result<Vec<_>, _>>().map_err(incomplete)?;
    record.ttl(ttl.into()).set_resource_records(Some(values)).build().map_err(incomplete)
}

/// The SDK cannot build a call without a value that AWS requires. The spec requires all of them.
fn incomplete(error: impl std::fmt::Display) -> Failure {
    Failure {
        class: FailureClass::Terminal,
        action: "failed to build the record".to_owned(),
        code: String::new(),
        message: error.to_string(),
    }
}

fn is_refused(failure: &Failure) -> bool {
    failure.code == "InvalidChangeBatch"
}

/// That a name is in use, by `holder`. A record without one of an owner is of others, also with this name.
fn taken(id: &RecordId, holder: &Record, creation: &Creation<'_>, message: String) -> Failure {
    let failure =
        Failure { class: FailureClass::TokenUsed, action: CREATE.to_owned(), code: String::new(), message };
    let set = id.set.as_ref().map(|set| format!(" and set identifier {set}")).unwrap_or_default();
    let what = format!("the name {} of type {}{set}", id.name, id.kind);
    creation.is_taken(failure, &what, std::slice::from_ref(holder))
}
