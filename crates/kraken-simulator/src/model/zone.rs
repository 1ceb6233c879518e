//! The zones of a region, with their names and ids.

use crate::refusal::Refusal;

/// The last letters of their names, each with the number in its id: AWS maps them per account.
const ZONES: [(char, u8); 6] = [('a', 6), ('b', 1), ('c', 2), ('d', 4), ('e', 3), ('f', 5)];

/// A zone.
#[derive(Debug, Clone)]
pub(crate) struct Zone {
    pub(crate) name: String,
    pub(crate) id: String,
}

/// All zones of a region.
pub(crate) fn all(region: &str) -> impl Iterator<Item = Zone> + '_ {
    let short = short(region);
    ZONES.iter().map(move |(letter, number)| Zone {
        name: format!("{region}{letter}"),
        id: format!("{short}-az{number}"),
    })
}

/// The prefix of the ids of a region's zones: `use1` of `us-east-1`, `apse2` of `ap-southeast-2`.
fn short(region: &str) -> String {
    let mut parts = region.split('-');
    let country = parts.next().unwrap_or_default();
    let way = parts.next().unwrap_or_default().replace("south", "s").replace("north", "n");
    let way = way.replace("east", "e").replace("west", "w").replace("central", "c");
    format!("{country}{way}{}", parts.next().unwrap_or_default())
}

/// The zone with this name, or AWS's error with the existing ones.
pub(crate) fn named(region: &str, name: &str, parameter: &str) -> Result<Zone, Refusal> {
    all(region).find(|zone| zone.name == name).ok_or_else(|| {
        let names: Vec<String> = all(region).map(|zone| zone.name).collect();
        let message = format!(
            "Value ({name}) for parameter {parameter} is invalid. Subnets can currently only be created in the \
             following availability zones: {}.",
            names.join(", ")
        );
        Refusal::new("InvalidParameterValue", message)
    })
}

/// The zone with this id.
pub(crate) fn with_id(region: &str, id: &str) -> Result<Zone, Refusal> {
    all(region).find(|zone| zone.id == id).ok_or_else(|| {
        let message = format!("Invalid availability zone-id: [{id}]");
        Refusal::new("InvalidParameterValue", message)
    })
}

/// The default zone.
pub(crate) fn first(region: &str) -> String {
    format!("{region}a")
}
