//! The zones of the only region.

use crate::moto::REGION;
use crate::simulator::answer::{Answer, Handler};
use crate::simulator::filters::Filter;
use crate::simulator::form::Form;
use crate::simulator::markup::Xml;
use crate::simulator::refusal::Refusal;

/// The last letters of their names, each with the number in its id: AWS gives every account other letters.
const ZONES: [(char, u8); 6] = [('a', 6), ('b', 1), ('c', 2), ('d', 4), ('e', 3), ('f', 5)];

/// A zone.
#[derive(Debug, Clone)]
pub(super) struct Zone {
    pub(super) name: String,
    pub(super) id: String,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeAvailabilityZones" => Some(|_, form| describe(form)),
        _ => None,
    }
}

/// All zones.
pub(super) fn all() -> impl Iterator<Item = Zone> {
    ZONES
        .iter()
        .map(|(letter, number)| Zone { name: format!("{REGION}{letter}"), id: format!("use1-az{number}") })
}

/// The zone of that name, or AWS's refusal with those there are.
pub(super) fn named(name: &str, parameter: &str) -> Result<Zone, Refusal> {
    all().find(|zone| zone.name == name).ok_or_else(|| {
        let names: Vec<String> = all().map(|zone| zone.name).collect();
        let message = format!(
            "Value ({name}) for parameter {parameter} is invalid. Subnets can currently only be created in the \
             following availability zones: {}.",
            names.join(", ")
        );
        Refusal::new("InvalidParameterValue", message)
    })
}

/// The zone with that id.
pub(super) fn with_id(id: &str) -> Result<Zone, Refusal> {
    all().find(|zone| zone.id == id).ok_or_else(|| {
        let message = format!("Invalid availability zone-id: [{id}]");
        Refusal::new("InvalidParameterValue", message)
    })
}

/// The zone that things are in which name none.
pub(in crate::simulator) fn first() -> String {
    format!("{REGION}a")
}

fn describe(form: &Form) -> Result<Answer, Refusal> {
    let filters = Filter::of(form)?;
    let known = ["zone-name", "zone-id", "state", "region-name", "zone-type", "opt-in-status"];
    Filter::check(&filters, |name| known.contains(&name))?;
    let (names, ids) = (form.list("ZoneName"), form.list("ZoneId"));
    for name in &names {
        if !all().any(|zone| zone.name == *name) {
            let message = format!("Invalid availability zone: [{name}]");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
    }
    ids.iter().try_for_each(|id| with_id(id).map(drop))?;
    let passes = |zone: &Zone| {
        filters.iter().all(|filter| {
            filter.matches(match filter.name.as_str() {
                "zone-name" => &zone.name,
                "zone-id" => &zone.id,
                "state" => "available",
                "region-name" => REGION,
                "zone-type" => "availability-zone",
                _ => "opt-in-not-required",
            })
        })
    };
    let is_named = |zone: &Zone| {
        (names.is_empty() && ids.is_empty()) || names.contains(&&*zone.name) || ids.contains(&&*zone.id)
    };
    let zones: Vec<Zone> = all().filter(|zone| is_named(zone) && passes(zone)).collect();
    let mut body = Xml::default();
    body.list("availabilityZoneInfo", &zones, |xml, zone| {
        xml.text("zoneName", &zone.name);
        xml.text("zoneId", &zone.id);
        xml.text("zoneState", "available");
        xml.text("zoneType", "availability-zone");
        xml.text("regionName", REGION);
        xml.text("optInStatus", "opt-in-not-required");
        xml.text("groupName", format!("{REGION}-zg-1"));
        xml.text("networkBorderGroup", REGION);
        xml.list("messageSet", [(); 0], |_, ()| {});
    });
    Ok(Answer { body, ids: vec![] })
}
