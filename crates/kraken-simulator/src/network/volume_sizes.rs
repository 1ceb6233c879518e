//! Changes of the size and the performance of volumes.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::model::Volume;
use crate::model::shape::{Modification, Shape};
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "ModifyVolume" => modify,
        "DescribeVolumesModifications" => |cloud, form| modifications(cloud, form),
        _ => return None,
    };
    Some(handler)
}

/// Absent fields are unchanged, except performance settings that the new type does not support.
fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VolumeId")?;
    let volume = cloud.one::<Volume>(id)?;
    let busy = volume.modification.as_ref().is_some_and(|one| one.transition.state(cloud.now) == "modifying");
    if busy || volume.state(cloud.now) == "creating" {
        let state = if busy { "modifying" } else { "creating" };
        let message = format!("Volume {id} is in an incorrect state: {state}");
        return Err(Refusal::new("IncorrectModificationState", message));
    }
    let before = volume.shape.clone();
    let size = form.number("Size")?.unwrap_or(before.size);
    if size < before.size {
        let message = "New size cannot be smaller than existing size";
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    let of = form.text("VolumeType").unwrap_or_else(|| before.of.clone());
    let same = of == before.of;
    let shape = Shape {
        size,
        iops: form.number("Iops")?.or(before.iops.filter(|_| same)),
        throughput: form.number("Throughput")?.or(before.throughput.filter(|_| same)),
        of,
    };
    let shape = shape.checked()?;
    let transition = StateTransition::new("modifying", "completed", cloud.now, cloud.options.volume_creating);
    let modification = Modification { before, transition, started: cloud.timestamp() };
    let volume = cloud.one_mut::<Volume>(id)?;
    (volume.shape, volume.modification) = (shape, Some(modification));
    let volume = cloud.one::<Volume>(id)?;
    Ok(Answer::about(id, |xml| xml.tag("volumeModification", |xml| write(xml, volume, "modifying"))))
}

fn modifications(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let ids = form.list("VolumeId");
    ids.iter().try_for_each(|id| cloud.one::<Volume>(id).map(drop))?;
    let is_meant = |volume: &&Volume| ids.is_empty() || ids.contains(&&*volume.id);
    let volumes = cloud.all::<Volume>().values().filter(is_meant);
    let modified: Vec<(&Volume, &str)> = volumes
        .filter_map(|volume| Some((volume, volume.modification.as_ref()?.transition.state(cloud.now))))
        .collect();
    let mut body = Xml::default();
    body.list("volumeModificationSet", &modified, |xml, (volume, state)| write(xml, volume, state));
    Ok(Answer { body, ids: modified.into_iter().map(|(volume, _)| volume.id.clone()).collect() })
}

fn write(xml: &mut Xml, volume: &Volume, state: &str) {
    let Some(modification) = &volume.modification else { return };
    xml.text("volumeId", &volume.id);
    xml.text("modificationState", state);
    xml.text("progress", if state == "completed" { 100 } else { 0 });
    xml.text("startTime", &modification.started);
    modification.before.write_as(xml, "original");
    volume.shape.write_as(xml, "target");
}
