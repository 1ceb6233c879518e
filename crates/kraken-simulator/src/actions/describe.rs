//! Describing instances and images.

use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::filters::Filter;
use crate::form::Form;
use crate::listing::{page, write};
use crate::markup::Xml;
use crate::model::Instance;
use crate::model::instance::ROOT_DEVICE;
use crate::refusal::{Refusal, is_well_formed};

use super::attributes::type_exists;

/// DescribeInstances.
pub(super) fn instances(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    if form.get("InstanceId.1").is_some() && form.get("MaxResults").is_some() {
        let message = "The parameter instancesSet cannot be used with the parameter maxResults";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    let page = page::<Instance>(cloud, form, None)?;
    let mut body = Xml::default();
    let members: Vec<&Instance> = page.members.iter().map(|(_, instance)| *instance).collect();
    let reservations = members.chunk_by(|a, b| a.reservation == b.reservation);
    body.list("reservationSet", reservations, |xml, members| write_reservation(xml, members, cloud));
    Ok(page.answer(cloud, body))
}

/// A reservation, which is also the response of RunInstances.
pub(super) fn write_reservation(xml: &mut Xml, members: &[&Instance], cloud: &Cloud) {
    if let Some(first) = members.first() {
        xml.text("reservationId", &first.reservation);
    }
    xml.text("ownerId", &cloud.options.account);
    xml.list("groupSet", [(); 0], |_, ()| {});
    xml.list("instancesSet", members, |xml, instance| write(xml, cloud, instance.number, *instance));
}

/// DescribeImages: the requested images, otherwise those in the options.
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

/// DescribeInstanceTypes, by name. A family such as `t4g` has ARM processors.
pub(super) fn instance_types(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let names: Vec<String> = form.list("InstanceType").into_iter().map(str::to_owned).collect();
    let missing: Vec<&str> =
        names.iter().filter(|name| type_exists(cloud, name).is_err()).map(String::as_str).collect();
    if !missing.is_empty() {
        let message = format!("The following supplied instance types do not exist: [{}]", missing.join(", "));
        return Err(Refusal::new("InvalidInstanceType", message));
    }
    let mut body = Xml::default();
    body.list("instanceTypeSet", &names, |xml, name| {
        let family = name.split('.').next().unwrap_or_default();
        let is_arm = family.trim_start_matches(|c: char| c.is_ascii_lowercase()).contains('g');
        xml.text("instanceType", name);
        xml.tag("processorInfo", |xml| {
            let architecture = if is_arm { "arm64" } else { "x86_64" };
            xml.list("supportedArchitectures", [architecture], Xml::plain);
        });
    });
    Ok(Answer { body, ids: names })
}

/// DescribeInstanceTypeOfferings for the types in a filter: every existing type is offered in every zone.
pub(super) fn offerings(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let filters = Filter::of(form)?;
    Filter::check(&filters, |name| ["location", "instance-type"].contains(&name))?;
    let values = |name: &str| -> Vec<String> {
        let of_name = filters.iter().filter(|filter| filter.name == name);
        of_name.flat_map(|filter| filter.values.clone()).collect()
    };
    let mut types = values("instance-type");
    types.retain(|name| type_exists(cloud, name).is_ok());
    let (location, kind) = (values("location").pop(), form.text("LocationType"));
    let mut body = Xml::default();
    body.list("instanceTypeOfferingSet", &types, |xml, name| {
        xml.text("instanceType", name);
        xml.optional("location", location.as_ref());
        xml.text("locationType", kind.as_deref().unwrap_or("region"));
    });
    Ok(Answer { body, ids: types })
}

/// AWS's error for a missing image.
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
