//! IAM instance profiles: an instance has at most one. Every name is a valid profile.

use crate::answer::Answer;
use crate::cloud::Cloud;
use crate::filters::Filter;
use crate::form::Form;
use crate::kind::id;
use crate::listing::{next_token, page_size};
use crate::markup::Xml;
use crate::model::Instance;
use crate::model::instance::State;
use crate::refusal::Refusal;
use crate::registry::Visibility;
use crate::store::CloudObject as _;

const PREFIX: &str = "iip-assoc-";

/// The id of the association of an instance with its profile, if it has one.
pub(crate) fn association(instance: &Instance) -> Option<String> {
    instance.settings.profile.as_ref().map(|_| id(PREFIX, instance.number))
}

/// The ARN of the profile in the parameters of a call, if there is one.
pub(super) fn named(cloud: &Cloud, form: &Form) -> Option<String> {
    let name = form.get("IamInstanceProfile.Name");
    let arn = name.map(|name| format!("arn:aws:iam::{}:instance-profile/{name}", cloud.options.account));
    form.text("IamInstanceProfile.Arn").or(arn)
}

/// AssociateIamInstanceProfile, with an instance that has none.
pub(super) fn associate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let profile = required(cloud, form)?;
    let now = cloud.now;
    let instance = cloud.one_mut::<Instance>(form.required("InstanceId")?)?;
    if !matches!(instance.state(now), State::Running | State::Stopped) {
        return Err(Refusal::state(&instance.id, "the 'running' or 'stopped' states"));
    }
    if instance.settings.profile.is_some() {
        let message = format!("There is an existing association for instance {}", instance.id);
        return Err(Refusal::new("IncorrectState", message));
    }
    instance.settings.profile = Some(profile);
    Ok(answer(instance, "associating"))
}

/// ReplaceIamInstanceProfileAssociation.
pub(super) fn replace(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let profile = required(cloud, form)?;
    let instance = associated(cloud, form)?;
    instance.settings.profile = Some(profile);
    Ok(answer(instance, "associating"))
}

/// DisassociateIamInstanceProfile.
pub(super) fn disassociate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let instance = associated(cloud, form)?;
    let answer = answer(instance, "disassociating");
    instance.settings.profile = None;
    Ok(answer)
}

/// DescribeIamInstanceProfileAssociations, all of them or those of some instances.
pub(super) fn describe(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (filters, size) = (Filter::of(form)?, page_size(cloud, form, (5, 1000))?);
    let first = next_token(form)?;
    Filter::check(&filters, |name| ["instance-id", "state"].contains(&name))?;
    let passes = |instance: &&Instance| {
        instance.number >= first
            && instance.settings.profile.is_some()
            && cloud.registry.is_seen(Instance::object(instance.number), Visibility::Described, cloud.now)
            && filters.iter().all(|filter| match filter.name.as_str() {
                "instance-id" => filter.matches(&instance.id),
                _ => filter.matches("associated"),
            })
    };
    let found: Vec<&Instance> = cloud.live_instances().filter(passes).take(size).collect();
    let mut body = Xml::default();
    body.list("iamInstanceProfileAssociationSet", &found, |xml, instance| write(xml, instance, "associated"));
    Ok(Answer { body, ids: found.into_iter().map(|instance| instance.id.clone()).collect() })
}

fn required(cloud: &Cloud, form: &Form) -> Result<String, Refusal> {
    let missing =
        || Refusal::new("MissingParameter", "The request must contain the parameter IamInstanceProfile");
    named(cloud, form).ok_or_else(missing)
}

/// The instance of an association.
fn associated<'a>(cloud: &'a mut Cloud, form: &Form) -> Result<&'a mut Instance, Refusal> {
    let wanted = form.required("AssociationId")?.to_owned();
    let has =
        |instance: &&Instance| instance.settings.profile.is_some() && id(PREFIX, instance.number) == wanted;
    let number = cloud.store.instances.values().find(has).map(|instance| instance.number);
    let found = number.and_then(|number| {
        cloud.touch::<Instance>(number, false);
        cloud.store.instances.get_mut(&number)
    });
    found.ok_or_else(|| {
        let message = format!("An invalid association-id of '{wanted}' was given");
        Refusal::new("InvalidAssociationID.NotFound", message)
    })
}

fn answer(instance: &Instance, state: &str) -> Answer {
    let mut body = Xml::default();
    body.tag("iamInstanceProfileAssociation", |xml| write(xml, instance, state));
    Answer { body, ids: vec![instance.id.clone()] }
}

fn write(xml: &mut Xml, instance: &Instance, state: &str) {
    xml.text("associationId", id(PREFIX, instance.number));
    xml.text("instanceId", &instance.id);
    xml.text("state", state);
    if let Some(arn) = &instance.settings.profile {
        xml.tag("iamInstanceProfile", |xml| xml.text("arn", arn));
    }
}
