//! The size and the performance of volumes, and their changes.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::form::Form;
use crate::markup::Xml;
use crate::objects::CloudObject as _;
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;

use super::Volume;

const TYPES: [&str; 7] = ["standard", "gp2", "gp3", "io1", "io2", "st1", "sc1"];

/// The mutable fields of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Shape {
    /// In GiB.
    pub(super) size: usize,
    /// Its type.
    pub(super) of: String,
    iops: Option<usize>,
    throughput: Option<usize>,
}

/// The change in progress, or the last one.
#[derive(Debug, Clone)]
pub(super) struct Modification {
    before: Shape,
    transition: StateTransition<&'static str>,
    started: String,
}

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "ModifyVolume" => modify,
        "DescribeVolumesModifications" => |cloud, form| modifications(cloud, form),
        _ => return None,
    };
    Some(handler)
}

impl Shape {
    /// The values in a call, by parameters with this prefix.
    pub(super) fn of(form: &Form, prefix: &str) -> Result<Self, Refusal> {
        let number = |name: &str| form.number(&format!("{prefix}{name}"));
        let size_name = if prefix.is_empty() { "Size" } else { "VolumeSize" };
        let of = form.text(&format!("{prefix}VolumeType")).unwrap_or_else(|| "gp2".to_owned());
        let shape = Self {
            size: number(size_name)?.unwrap_or(8),
            iops: number("Iops")?,
            throughput: number("Throughput")?,
            of,
        };
        shape.checked()
    }

    /// AWS's rules, and its defaults for absent fields.
    fn checked(mut self) -> Result<Self, Refusal> {
        let of = self.of.as_str();
        if !TYPES.contains(&of) {
            return Err(Refusal::value(of, "volumeType"));
        }
        let (least, most) = match of {
            "io1" | "io2" => (4, 16_384),
            "st1" | "sc1" => (125, 16_384),
            "standard" => (1, 1024),
            _ => (1, 16_384),
        };
        if !(least..=most).contains(&self.size) {
            let (size, bound) = (self.size, if self.size < least { "small" } else { "large" });
            let message = format!("Volume of {size}GiB is too {bound} for volume type {of}");
            return Err(Refusal::new("InvalidParameterValue", message));
        }
        let no = |name: &str| {
            let message = format!("The parameter {name} is not supported for {of} volumes.");
            Err(Refusal::new("InvalidParameterCombination", message))
        };
        if self.throughput.is_some() && of != "gp3" {
            return no("throughput");
        }
        match of {
            "gp3" => {
                self.throughput.get_or_insert(125);
                self.iops.get_or_insert(3000);
            }
            "io1" | "io2" if self.iops.is_none() => {
                let message = format!("The parameter iops must be specified for {of} volumes.");
                return Err(Refusal::new("MissingParameter", message));
            }
            "io1" | "io2" => {}
            _ if self.iops.is_some() => return no("iops"),
            _ => {}
        }
        Ok(self)
    }

    /// The performance of gp2 depends on its size.
    fn speed(&self) -> Option<usize> {
        if self.of == "gp2" { Some((self.size * 3).clamp(100, 16_000)) } else { self.iops }
    }

    pub(super) fn write(&self, xml: &mut Xml) {
        xml.text("size", self.size);
        xml.text("volumeType", &self.of);
        xml.optional("iops", self.speed().map(|speed| speed.to_string()).as_ref());
        xml.optional("throughput", self.throughput.map(|speed| speed.to_string()).as_ref());
    }

    fn write_as(&self, xml: &mut Xml, which: &str) {
        xml.text(&format!("{which}Size"), self.size);
        xml.text(&format!("{which}VolumeType"), &self.of);
        xml.optional(&format!("{which}Iops"), self.speed().map(|speed| speed.to_string()).as_ref());
        xml.optional(&format!("{which}Throughput"), self.throughput.map(|speed| speed.to_string()).as_ref());
    }
}

/// Absent fields are unchanged, except performance settings that the new type does not support.
fn modify(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VolumeId")?;
    let volume = cloud.one::<Volume>(id)?;
    let busy = volume.modification.as_ref().is_some_and(|one| one.transition.state(cloud.now) == "modifying");
    if busy || volume.state(cloud) == "creating" {
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
    let volumes = Volume::all(cloud).values().filter(is_meant);
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
