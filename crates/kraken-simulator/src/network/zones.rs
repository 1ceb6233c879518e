//! The zones of the region.

use crate::answer::{Answer, Handler};
use crate::filters::Filter;
use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;

/// The last letters of their names, each with the number in its id: AWS maps them per account.
const ZONES: [(char, u8); 6] = [('a', 6), ('b', 1), ('c', 2), ('d', 4), ('e', 3), ('f', 5)];

/// A zone.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    pub(super) name: String,
    pub(super) id: String,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeAvailabilityZones" => Some(|cloud, form| describe(&cloud.options.region, form)),
        _ => None,
    }
}

/// All zones of a region.
pub(super) fn all(region: &str) -> impl Iterator<Item = Zone> + '_ {
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
pub(super) fn named(region: &str, name: &str, parameter: &str) -> Result<Zone, Refusal> {
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
pub(super) fn with_id(region: &str, id: &str) -> Result<Zone, Refusal> {
    all(region).find(|zone| zone.id == id).ok_or_else(|| {
        let message = format!("Invalid availability zone-id: [{id}]");
        Refusal::new("InvalidParameterValue", message)
    })
}

/// The default zone.
pub(crate) fn first(region: &str) -> String {
    format!("{region}a")
}

fn describe(region: &str, form: &Form) -> Result<Answer, Refusal> {
    let filters = Filter::of(form)?;
    let known = ["zone-name", "zone-id", "state", "region-name", "zone-type", "opt-in-status"];
    Filter::check(&filters, |name| known.contains(&name))?;
    let (names, ids) = (form.list("ZoneName"), form.list("ZoneId"));
    for name in &names {
        if !all(region).any(|zone| zone.name == *name) {
            let message = format!("Invalid availability zone: [{name}]");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
    }
    ids.iter().try_for_each(|id| with_id(region, id).map(drop))?;
    let passes = |zone: &Zone| {
        filters.iter().all(|filter| {
            filter.matches(match filter.name.as_str() {
                "zone-name" => &zone.name,
                "zone-id" => &zone.id,
                "state" => "available",
                "region-name" => region,
                "zone-type" => "availability-zone",
                _ => "opt-in-not-required",
            })
        })
    };
    let is_named = |zone: &Zone| {
        (names.is_empty() && ids.is_empty()) || names.contains(&&*zone.name) || ids.contains(&&*zone.id)
    };
    let zones: Vec<Zone> = all(region).filter(|zone| is_named(zone) && passes(zone)).collect();
    let mut body = Xml::default();
    body.list("availabilityZoneInfo", &zones, |xml, zone| {
        xml.text("zoneName", &zone.name);
        xml.text("zoneId", &zone.id);
        xml.text("zoneState", "available");
        xml.text("zoneType", "availability-zone");
        xml.text("regionName", region);
        xml.text("optInStatus", "opt-in-not-required");
        xml.text("groupName", format!("{region}-zg-1"));
        xml.text("networkBorderGroup", region);
        xml.list("messageSet", [(); 0], |_, ()| {});
    });
    Ok(Answer { body, ids: vec![] })
}
