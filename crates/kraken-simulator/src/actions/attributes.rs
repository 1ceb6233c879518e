//! Reading and changing single settings of an instance.

use crate::answer::{Answer, done};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::Kind;
use crate::listing::ids;
use crate::markup::Xml;
use crate::model::Instance;
use crate::model::instance::State;
use crate::network::groups_exist;
use crate::refusal::Refusal;
use crate::registry::Visibility;

use super::named::instance_ids;

/// In bytes, decoded.
const MOST_USER_DATA: usize = 16_384;

/// ModifyInstanceAttribute: one attribute, and most only while the instance is stopped.
pub(super) fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let now = cloud.now;
    let groups: Vec<String> = form.list("GroupId").into_iter().map(str::to_owned).collect();
    groups_exist(cloud, &groups)?;
    if let Some(wanted) = form.get("InstanceType.Value") {
        type_exists(cloud, wanted)?;
    }
    let instance = cloud.one_mut::<Instance>(form.required("InstanceId")?)?;
    let (state, id) = (instance.state(now), instance.id.clone());
    let settings = &mut instance.settings;
    if let Some(protected) = form.flag("DisableApiTermination.Value")? {
        settings.protected = protected;
        return Ok(done(vec![id]));
    }
    if !groups.is_empty() {
        if state.is_over() {
            return Err(Refusal::state(&id, "a valid state for this operation"));
        }
        settings.groups = groups;
        return Ok(done(vec![id]));
    }
    let stopped =
        || if state == State::Stopped { Ok(()) } else { Err(Refusal::state(&id, "the 'stopped' state")) };
    if let Some(wanted) = form.text("InstanceType.Value") {
        stopped()?;
        settings.instance_type = wanted;
    } else if let Some(wanted) = form.text("UserData.Value") {
        is_user_data(&wanted)?;
        stopped()?;
        settings.user_data = Some(wanted);
    } else if let Some(wanted) = form.flag("EbsOptimized.Value")? {
        stopped()?;
        settings.ebs_optimized = wanted;
    } else {
        return Err(Refusal::new("InvalidParameterCombination", "No attributes specified."));
    }
    Ok(done(vec![id]))
}

/// DescribeInstanceAttribute.
pub(super) fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (id, attribute) = (form.required("InstanceId")?, form.required("Attribute")?);
    let number = cloud.numbers(Kind::Instance, &[id], Visibility::Described)?.into_iter().next();
    let instance = number.and_then(|number| cloud.store.instances.get(&number));
    let settings = &instance.ok_or_else(|| Kind::Instance.missing(&[id]))?.settings;
    let value = match attribute {
        "userData" => settings.user_data.clone().filter(|data| !data.is_empty()),
        "instanceType" => Some(settings.instance_type.clone()),
        "disableApiTermination" => Some(settings.protected.to_string()),
        "ebsOptimized" => Some(settings.ebs_optimized.to_string()),
        other => return Err(Refusal::value(other, "attribute")),
    };
    let mut body = Xml::default();
    body.text("instanceId", id);
    body.tag(attribute, |xml| xml.optional("value", value.as_ref()));
    Ok(Answer { body, ids: vec![id.to_owned()] })
}

/// ModifyInstanceMetadataOptions: absent fields are unchanged.
pub(super) fn metadata(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let now = cloud.now;
    let instance = cloud.one_mut::<Instance>(form.required("InstanceId")?)?;
    if instance.state(now).is_over() {
        return Err(Refusal::state(&instance.id, "a valid state for this operation"));
    }
    let metadata = &mut instance.settings.metadata;
    if let Some(limit) = form.number("HttpPutResponseHopLimit")? {
        metadata.hop_limit = limit;
    }
    for (name, field) in [("HttpTokens", &mut metadata.tokens), ("HttpEndpoint", &mut metadata.endpoint)] {
        if let Some(value) = form.text(name) {
            *field = value;
        }
    }
    let mut body = Xml::default();
    body.text("instanceId", &instance.id);
    instance.settings.metadata.write(&mut body, "instanceMetadataOptions");
    Ok(Answer { body, ids: vec![instance.id.clone()] })
}

/// MonitorInstances and UnmonitorInstances. The response has the transitional state, as in AWS.
pub(super) fn monitor(cloud: &mut Cloud, form: &Form, on: bool) -> Result<Answer, Refusal> {
    let numbers = cloud.numbers(Kind::Instance, &instance_ids(form)?, Visibility::Known)?;
    let ids = ids::<Instance>(cloud, numbers.iter().copied());
    for number in &numbers {
        cloud.touch::<Instance>(*number, false);
        if let Some(instance) = cloud.store.instances.get_mut(number) {
            instance.settings.monitoring = on;
        }
    }
    let mut body = Xml::default();
    body.list("instancesSet", &ids, |xml, id| {
        xml.text("instanceId", id);
        xml.tag("monitoring", |xml| xml.text("state", if on { "pending" } else { "disabling" }));
    });
    Ok(Answer { body, ids })
}

/// Every well-formed instance type exists, unless the options list the existing ones.
pub(super) fn type_exists(cloud: &Cloud, name: &str) -> Result<(), Refusal> {
    if cloud.options.instance_types.as_ref().is_some_and(|types| !types.contains(name)) {
        return Err(Refusal::value(name, "InstanceType"));
    }
    let parts = name.split_once('.');
    let spelled = |text: &str| {
        !text.is_empty() && text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
    };
    match parts {
        Some((family, size)) if spelled(family) && spelled(size) => Ok(()),
        _ => Err(Refusal::value(name, "InstanceType")),
    }
}

pub(super) fn is_user_data(text: &str) -> Result<(), Refusal> {
    let wrong = |message: &str| Err(Refusal::new("InvalidUserData.Malformed", message));
    let encoded = text.bytes().filter(|byte| !byte.is_ascii_whitespace());
    if !encoded.clone().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)) {
        return wrong("Invalid BASE64 encoding of user data.");
    }
    if encoded.filter(|byte| *byte != b'=').count() * 3 / 4 > MOST_USER_DATA {
        return wrong("User data is limited to 16384 bytes");
    }
    Ok(())
}
