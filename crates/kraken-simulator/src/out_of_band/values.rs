//! The lookups of out-of-band changes: the parts and the environment of an object.

use anyhow::{Result, anyhow};

use crate::cloud::Cloud;
use crate::elb;
use crate::instance::Instance;
use crate::network::{self, default_group};

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
        "$target" => elb::target_of(cloud, id),
        name => network::part_of(cloud, id, name),
    }
}

/// The VPC of an object.
fn vpc(cloud: &Cloud, id: &str) -> Option<String> {
    let instance = cloud.existing::<Instance>(id).map(|one| one.place.vpc.clone());
    instance.or_else(|| elb::vpc_of(cloud, id))
}
