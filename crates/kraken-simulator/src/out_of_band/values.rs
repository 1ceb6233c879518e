//! The lookups of out-of-band changes: the parts and the environment of an object.

use anyhow::{Result, anyhow};

use crate::cloud::Cloud;
use crate::model::{Instance, LoadBalancer, TargetGroup};
use crate::network::default_group;

use super::parts::part_of;

/// The parameters of a call: `Name=value`, with lookups replaced by their results.
pub(super) fn filled(cloud: &Cloud, id: &str, template: &str) -> Result<Vec<(String, String)>> {
    let mut filled = vec![];
    for field in template.split_whitespace() {
        let looked_up =
            |name: &str| value(cloud, id, name).ok_or_else(|| anyhow!("{id} has no value for {name}"));
        match field.split_once('=') {
            Some((name, wanted)) if wanted.starts_with('$') => {
                filled.push((name.to_owned(), looked_up(wanted)?));
            }
            Some((name, value)) => filled.push((name.to_owned(), value.to_owned())),
            None => {
                for pair in looked_up(field)?.split_whitespace() {
                    let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                    filled.push((name.to_owned(), value.to_owned()));
                }
            }
        }
    }
    Ok(filled)
}

fn value(cloud: &Cloud, id: &str, name: &str) -> Option<String> {
    match name {
        "$id" => Some(id.to_owned()),
        "$default-group" => default_group(cloud, &vpc(cloud, id)?),
        "$profile" => crate::actions::profile_of(cloud.existing::<Instance>(id)?),
        "$instance" => {
            let here = vpc(cloud, id);
            let mut live = cloud.live_instances().filter(|one| !one.state(cloud.now).is_over());
            live.find(|one| here.as_ref().is_none_or(|vpc| *vpc == one.place.vpc)).map(|one| one.id.clone())
        }
        "$target" => target_of(cloud, id),
        name => part_of(cloud, id, name),
    }
}

/// The VPC of an object.
fn vpc(cloud: &Cloud, id: &str) -> Option<String> {
    let instance = cloud.existing::<Instance>(id).map(|one| one.place.vpc.clone());
    let group = || cloud.existing::<TargetGroup>(id).map(|group| group.settings.vpc.clone());
    let balancer = || cloud.existing::<LoadBalancer>(id).map(|one| one.vpc.clone());
    instance.or_else(group).or_else(balancer)
}

/// A target of a group as parameters of a call.
fn target_of(cloud: &Cloud, group: &str) -> Option<String> {
    let (id, port) = cloud.existing::<TargetGroup>(group)?.targets.keys().next()?;
    Some(format!("Targets.member.1.Id={id} Targets.member.1.Port={port}"))
}
