//! Describing instances, tags and images.

use crate::simulator::cloud::{Cloud, Thing};
use crate::simulator::form::Form;
use crate::simulator::instance::{ACCOUNT, Instance, ROOT_DEVICE};
use crate::simulator::markup::Xml;
use crate::simulator::refusal::{Refusal, is_well_formed};

use super::Answer;
use super::filters::{Filter, candidates};

/// DescribeInstances.
pub(super) fn instances(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let ids = form.list("InstanceId");
    if !ids.is_empty() && form.get("MaxResults").is_some() {
        let message = "The parameter instancesSet cannot be used with the parameter maxResults";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    let (filters, size, first) = (Filter::of(form)?, page_size(cloud, form)?, next_token(form)?);
    Filter::check(&filters, Filter::is_of_instances)?;
    let numbers: Box<dyn Iterator<Item = u64>> = match ids.as_slice() {
        [] => candidates(cloud, &filters, first),
        ids => Box::new(cloud.described(ids)?.into_iter().filter(move |number| *number >= first)),
    };
    let (mut page, mut next) = (vec![], None);
    for number in numbers {
        let Some(instance) = cloud.instances.get(&number) else { continue };
        let passes = filters.iter().all(|filter| filter.passes(cloud, instance));
        if instance.described_from > cloud.now || !passes {
            continue;
        }
        if page.len() == size {
            next = Some(number);
            break;
        }
        page.push(instance);
    }
    let mut body = Xml::default();
    let reservations = page.chunk_by(|a, b| a.reservation == b.reservation);
    body.list("reservationSet", reservations, |xml, members| write_reservation(xml, members, cloud));
    if let Some(number) = next {
        body.text("nextToken", to_token(number));
    }
    Ok(Answer { body, ids: page.into_iter().map(|instance| instance.id.clone()).collect() })
}

/// A reservation, as RunInstances answers it too.
pub(super) fn write_reservation(xml: &mut Xml, members: &[&Instance], cloud: &Cloud) {
    if let Some(first) = members.first() {
        xml.text("reservationId", &first.reservation);
    }
    xml.text("ownerId", ACCOUNT);
    xml.list("groupSet", [(); 0], |_, ()| {});
    xml.list("instancesSet", members, |xml, instance| instance.write(xml, cloud.now));
}

fn page_size(cloud: &Cloud, form: &Form) -> Result<usize, Refusal> {
    let asked = form.number("MaxResults")?;
    match asked {
        Some(size) if !(5..=1000).contains(&size) => {
            let side = if size < 5 { "greater than 5" } else { "less than 1000" };
            let message =
                format!("Value ( {size} ) for parameter maxResults is invalid. Expecting a value {side}.");
            Err(Refusal::new("InvalidParameterValue", message))
        }
        _ => Ok(asked.unwrap_or(usize::MAX).min(cloud.options.page_size).max(1)),
    }
}

/// Where a page begins. It names the next thing and not a count, so that nothing is skipped when something before it goes.
fn next_token(form: &Form) -> Result<u64, Refusal> {
    let Some(token) = form.get("NextToken").filter(|token| !token.is_empty()) else { return Ok(0) };
    let number = token.strip_prefix("page-").and_then(|number| u64::from_str_radix(number, 16).ok());
    number.ok_or_else(|| Refusal::new("InvalidNextToken", "The specified NextToken is not valid."))
}

fn to_token(number: u64) -> String {
    format!("page-{number:x}")
}

/// DescribeTags. A page ends at a whole number of tags; its token counts them.
pub(super) fn tags(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (filters, size, first) = (Filter::of(form)?, page_size(cloud, form)?, next_token(form)?);
    Filter::check(&filters, |name| ["key", "value", "resource-id", "resource-type"].contains(&name))?;
    let exact = |name: &str| {
        let filter = filters.iter().find(|filter| filter.name == name && filter.is_exact())?;
        Some(filter.values.clone())
    };
    let mut things: Vec<Thing> = match (exact("key"), exact("value"), exact("resource-id")) {
        (_, _, Some(ids)) => ids.iter().filter_map(|id| cloud.thing(id)).collect(),
        (Some(keys), Some(values), None) => {
            let pairs = keys.iter().flat_map(|key| values.iter().map(move |value| (key, value)));
            pairs.flat_map(|(key, value)| with_tag(cloud, key, value)).collect()
        }
        _ => {
            let both = |number: &u64| [Thing::Instance(*number), Thing::Volume(*number)];
            cloud.instances.keys().flat_map(both).collect()
        }
    };
    things.sort_unstable();
    things.dedup();
    let mut rows = vec![];
    for thing in things {
        let Some((id, kind)) = name(cloud, thing) else { continue };
        for (key, value) in cloud.history(thing).into_iter().flat_map(|history| history.described(cloud.now))
        {
            if row_passes(&filters, key, value, id, kind) {
                rows.push((key, value, id, kind));
            }
        }
    }
    let start = usize::try_from(first).unwrap_or(usize::MAX).min(rows.len());
    let end = start.saturating_add(size).min(rows.len());
    let mut body = Xml::default();
    body.list("tagSet", &rows[start..end], |xml, (key, value, id, kind)| {
        xml.text("key", key);
        xml.text("resourceId", id);
        xml.text("resourceType", kind);
        xml.text("value", value);
    });
    if end < rows.len() {
        body.text("nextToken", to_token(end as u64));
    }
    Ok(Answer { body, ids: rows[start..end].iter().map(|row| (*row.2).to_owned()).collect() })
}

fn with_tag(cloud: &Cloud, key: &str, value: &str) -> Vec<Thing> {
    let instances = cloud.instance_tags.with(key, value).into_iter().flatten();
    let volumes = cloud.volume_tags.with(key, value).into_iter().flatten();
    instances
        .map(|number| Thing::Instance(*number))
        .chain(volumes.map(|number| Thing::Volume(*number)))
        .collect()
}

fn name(cloud: &Cloud, thing: Thing) -> Option<(&str, &'static str)> {
    let (Thing::Instance(number) | Thing::Volume(number)) = thing;
    let instance = cloud.instances.get(&number).filter(|instance| instance.described_from <= cloud.now)?;
    match thing {
        Thing::Instance(_) => cloud.present.contains(&number).then_some((&*instance.id, "instance")),
        Thing::Volume(_) => instance.has_volume(cloud.now).then_some((&*instance.volume, "volume")),
    }
}

fn row_passes(filters: &[Filter], key: &str, value: &str, id: &str, kind: &str) -> bool {
    filters.iter().all(|filter| {
        filter.matches(match filter.name.as_str() {
            "key" => key,
            "value" => value,
            "resource-id" => id,
            _ => kind,
        })
    })
}

/// DescribeImages: those that are asked for, else those that the options name.
pub(super) fn images(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let mut ids: Vec<String> = form.list("ImageId").into_iter().map(str::to_owned).collect();
    for id in &ids {
        image_exists(cloud, id)?;
    }
    if ids.is_empty() {
        ids = cloud.options.images.iter().flatten().cloned().collect();
    }
    let mut body = Xml::default();
    body.list("imagesSet", &ids, |xml, id| {
        xml.text("imageId", id);
        xml.text("imageState", "available");
        xml.text("imageType", "machine");
        xml.text("architecture", "x86_64");
        xml.text("rootDeviceName", ROOT_DEVICE);
        xml.text("rootDeviceType", "ebs");
    });
    Ok(Answer { body, ids })
}

/// AWS's refusal of an image that does not exist.
pub(super) fn image_exists(cloud: &Cloud, id: &str) -> Result<(), Refusal> {
    if !is_well_formed(id, "ami-") {
        return Err(Refusal::malformed("InvalidAMIID.Malformed", id, "ami-"));
    }
    match &cloud.options.images {
        Some(images) if !images.contains(id) => {
            Err(Refusal::new("InvalidAMIID.NotFound", format!("The image id '[{id}]' does not exist")))
        }
        _ => Ok(()),
    }
}
