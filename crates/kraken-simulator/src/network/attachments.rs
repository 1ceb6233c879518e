//! Attaches volumes to instances, and detaches them.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::event::Event;
use crate::form::Form;
use crate::model::instance::{ROOT_DEVICE, State};
use crate::model::volume::Attachment;
use crate::model::{Instance, Volume};
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AttachVolume" => attach,
        "DetachVolume" => detach,
        _ => return None,
    };
    Some(handler)
}

fn attach(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (id, owner) = (form.required("VolumeId")?, form.required("InstanceId")?);
    let device = form.required("Device")?;
    let (volume, instance) = (cloud.one::<Volume>(id)?, cloud.one::<Instance>(owner)?);
    if volume.attachment.is_some() {
        let message = format!("{id} is already attached to an instance");
        return Err(Refusal::new("VolumeInUse", message));
    }
    if volume.state(cloud.now) != "available" {
        return Err(Refusal::new("IncorrectState", format!("{id} is not 'available'.")));
    }
    if !matches!(instance.state(cloud.now), State::Running | State::Stopped) {
        return Err(Refusal::new("IncorrectState", format!("Instance '{owner}' is not 'running'.")));
    }
    if volume.zone != instance.place.zone {
        let message = format!("The volume '{id}' is not in the same availability zone as instance '{owner}'");
        return Err(Refusal::new("InvalidVolume.ZoneMismatch", message));
    }
    let mut others =
        instance.volumes.iter().filter_map(|id| cloud.existing::<Volume>(id)?.attachment.as_ref());
    if others.any(|other| other.device == device) {
        let message =
            format!("Invalid value '{device}' for unixDevice. Attachment point {device} is already in use");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let attachment = Attachment {
        instance: owner.to_owned(),
        device: device.to_owned(),
        goes_with_it: false,
        transition: StateTransition::new("attaching", "attached", cloud.now, cloud.options.volume_attaching),
        since: cloud.timestamp(),
    };
    let answer = answer(id, &attachment, "attaching");
    cloud.one_mut::<Volume>(id)?.attachment = Some(attachment);
    if let Some(instance) = cloud.existing_mut::<Instance>(owner) {
        instance.volumes.push(id.to_owned());
    }
    Ok(answer)
}

fn detach(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VolumeId")?;
    let number = cloud.number::<Volume>(id)?;
    let volume = cloud.one::<Volume>(id)?;
    let meant = |one: &&Attachment| form.get("InstanceId").is_none_or(|instance| instance == one.instance);
    let Some(mut attachment) = volume.attachment.as_ref().filter(meant).cloned() else {
        let message = format!("Volume '{id}' is in the '{}' state.", volume.state(cloud.now));
        return Err(Refusal::new("IncorrectState", message));
    };
    let state = cloud.existing::<Instance>(&attachment.instance).map(|instance| instance.state(cloud.now));
    if attachment.device == ROOT_DEVICE && state != Some(State::Stopped) {
        let message = format!("Unable to detach root volume '{id}' from instance '{}'", attachment.instance);
        return Err(Refusal::new("OperationNotPermitted", message));
    }
    let takes = cloud.options.volume_attaching;
    attachment.transition = StateTransition::new("detaching", "detached", cloud.now, takes);
    let answer = answer(id, &attachment, "detaching");
    cloud.one_mut::<Volume>(id)?.attachment = Some(attachment);
    cloud.schedule(cloud.now + takes, Event::Detached(number));
    Ok(answer)
}

fn answer(volume: &str, attachment: &Attachment, state: &str) -> Answer {
    Answer::about(volume, |xml| attachment.write(xml, volume, state))
}
