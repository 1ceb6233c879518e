//! DescribeAvailabilityZones: the zones of the region.

use crate::answer::{Answer, Handler};
use crate::filters::Filter;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::zone::{Zone, all, with_id};
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    match action {
        "DescribeAvailabilityZones" => Some(|cloud, form| describe(&cloud.options.region, form)),
        _ => None,
    }
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
