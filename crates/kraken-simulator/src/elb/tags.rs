//! Tags of the load balancing API: set by ARN, and read for at most 20 of them at once.

use std::collections::BTreeSet;

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::kind::Kind;
use crate::markup::Xml;
use crate::refusal::Refusal;
use crate::registry::{ObjectRef, Visibility};
use crate::tags::Tags;

/// AWS's limit of a DescribeTags call.
const MOST_ARNS: usize = 20;
const MOST_TAGS: usize = 50;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "DescribeTags" => |cloud, form| describe(cloud, form),
        "AddTags" => add,
        "RemoveTags" => remove,
        _ => return None,
    };
    Some(handler)
}

/// The tags in the parameters of a call.
pub(super) fn given(form: &Form) -> Result<Tags, Refusal> {
    let mut tags = Tags::new();
    for (key, value) in form.tags_in("Tags.member") {
        if tags.insert(key.clone(), value.unwrap_or_default()).is_some() {
            let message = format!("Tag key '{key}' was specified more than once");
            return Err(Refusal::new("DuplicateTagKeys", message));
        }
    }
    checked(tags)
}

fn checked(tags: Tags) -> Result<Tags, Refusal> {
    if tags.len() > MOST_TAGS {
        let message = "The quota for the number of tags that can be assigned to a resource has been reached";
        return Err(Refusal::new("TooManyTags", message));
    }
    for (key, value) in &tags {
        if key.to_lowercase().starts_with("aws:") {
            return Err(Refusal::invalid("aws: prefixed tag key names are not allowed for external use."));
        }
        if key.is_empty() || key.chars().count() > 128 || value.chars().count() > 256 {
            return Err(Refusal::invalid(format!("Tag '{key}' is empty or too long")));
        }
    }
    Ok(tags)
}

/// The objects in the parameters of a call, in the same order.
fn named(cloud: &Cloud, form: &Form, visibility: Visibility) -> Result<Vec<(String, ObjectRef)>, Refusal> {
    let arns = form.list("ResourceArns.member");
    if arns.is_empty() {
        form.required("ResourceArns")?;
    }
    let mut objects = vec![];
    for arn in arns {
        let kind = kind(arn)?;
        let number = cloud.numbers(kind, &[arn], visibility)?.into_iter().next();
        let number = number.ok_or_else(|| kind.missing(&[arn]))?;
        objects.push((arn.to_owned(), ObjectRef { kind, number }));
    }
    Ok(objects)
}

/// The kind of the object with this ARN.
fn kind(arn: &str) -> Result<Kind, Refusal> {
    let resource = arn.splitn(6, ':').nth(5).unwrap_or_default();
    match resource.split('/').next() {
        Some("loadbalancer") => Ok(Kind::LoadBalancer),
        Some("targetgroup") => Ok(Kind::TargetGroup),
        Some("listener") => Ok(Kind::Listener),
        Some("listener-rule") => Ok(Kind::ListenerRule),
        _ => Err(Refusal::invalid(format!("'{arn}' is not a valid ARN"))),
    }
}

fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let count = form.list("ResourceArns.member").len();
    if count > MOST_ARNS {
        return Err(Refusal::invalid(format!(
            "1 validation error detected: Value of length {count} at 'resourceArns' failed to satisfy constraint: \
             Member must have length less than or equal to {MOST_ARNS}"
        )));
    }
    let objects = named(cloud, form, Visibility::Described)?;
    let mut body = Xml::default();
    body.members("TagDescriptions", &objects, |xml, (arn, object)| {
        xml.text("ResourceArn", arn);
        xml.members("Tags", cloud.registry.tags(*object, cloud.now), |xml, (key, value)| {
            xml.text("Key", key);
            xml.text("Value", value);
        });
    });
    Ok(Answer { body, ids: objects.into_iter().map(|(arn, _)| arn).collect() })
}

fn add(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let added = given(form)?;
    change(cloud, form, |tags| tags.extend(added.clone()))
}

fn remove(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let unwanted: BTreeSet<&str> = form.list("TagKeys.member").into_iter().collect();
    change(cloud, form, |tags| tags.retain(|key, _| !unwanted.contains(key.as_str())))
}

/// Changes the tags of all or none.
fn change(cloud: &mut Cloud, form: &Form, change: impl Fn(&mut Tags)) -> Result<Answer, Refusal> {
    let mut changed = vec![];
    for (arn, object) in named(cloud, form, Visibility::Known)? {
        let mut tags = cloud.registry.latest_tags(object);
        change(&mut tags);
        changed.push((arn, object, checked(tags)?));
    }
    let mut ids = vec![];
    for (arn, object, tags) in changed {
        cloud.set_tags(object, tags);
        ids.push(arn);
    }
    Ok(Answer { body: Xml::default(), ids })
}
