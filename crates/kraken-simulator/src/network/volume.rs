//! Volumes: creating, available, in use. An instance's root volume is one of them.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, ids, write};
use crate::markup::Xml;
use crate::model::shape::Shape;
use crate::model::volume::Attachment;
use crate::model::{Volume, zone};
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;
use crate::tags::Tags;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateVolume" => create,
        "DescribeVolumes" => described,
        "DeleteVolume" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for Volume {
    const IDS: &'static str = "VolumeId";
    const SET: &'static str = "volumeSet";
    const FILTERS: &'static [&'static str] = &[
        "volume-id",
        "status",
        "availability-zone",
        "volume-type",
        "size",
        "encrypted",
        "snapshot-id",
        "attachment.instance-id",
        "attachment.device",
        "attachment.status",
        "attachment.delete-on-termination",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let attachment = self.attachment.as_ref();
        match filter {
            "volume-id" => vec![self.id.clone()],
            "status" => vec![self.state(cloud.now).to_owned()],
            "availability-zone" => vec![self.zone.clone()],
            "volume-type" => vec![self.shape.of.clone()],
            "size" => vec![self.shape.size.to_string()],
            "encrypted" => vec![self.encrypted.to_string()],
            "snapshot-id" => self.snapshot.iter().cloned().collect(),
            "attachment.instance-id" => attachment.map(|one| one.instance.clone()).into_iter().collect(),
            "attachment.device" => attachment.map(|one| one.device.clone()).into_iter().collect(),
            "attachment.status" => {
                attachment.map(|one| one.state(cloud.now).to_owned()).into_iter().collect()
            }
            _ => attachment.map(|one| one.goes_with_it.to_string()).into_iter().collect(),
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("volumeId", &self.id);
        xml.text("availabilityZone", &self.zone);
        xml.text("status", self.state(cloud.now));
        xml.text("createTime", &self.created);
        xml.text("snapshotId", self.snapshot.as_deref().unwrap_or_default());
        xml.text("encrypted", self.encrypted);
        xml.text("multiAttachEnabled", false);
        self.shape.write(xml);
        xml.list("attachmentSet", &self.attachment, |xml, one| {
            one.write(xml, &self.id, one.state(cloud.now));
            xml.text("deleteOnTermination", one.goes_with_it);
        });
    }
}

/// Its fields are directly in the response.
fn answer(cloud: &Cloud, number: u64) -> Answer {
    let mut body = Xml::default();
    if let Some(volume) = cloud.all::<Volume>().get(&number) {
        write(&mut body, cloud, number, volume);
    }
    Answer { body, ids: ids::<Volume>(cloud, [number]) }
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    if let Some(used) = cloud.used(Kind::Volume, form)? {
        return Ok(answer(cloud, used.made.first().copied().unwrap_or_default()));
    }
    let zone = form.required("AvailabilityZone")?.to_owned();
    if !zone::all(&cloud.options.region).any(|each| each.name == zone) {
        let message = format!("The zone '{zone}' does not exist.");
        return Err(Refusal::new("InvalidZone.NotFound", message));
    }
    let snapshot = form.text("SnapshotId");
    if snapshot.is_none() && form.get("Size").is_none() {
        let message = "The request must contain the parameter size/snapshot";
        return Err(Refusal::new("MissingParameter", message));
    }
    let shape = Shape::of(form, "")?;
    let tags = given(form, Kind::Volume)?;
    let number =
        make(cloud, Source { zone, snapshot, encrypted: flag(form, "Encrypted")? }, shape, None, tags);
    cloud.use_token(Kind::Volume, form, vec![number]);
    Ok(answer(cloud, number))
}

fn flag(form: &Form, name: &str) -> Result<bool, Refusal> {
    Ok(form.flag(name)?.unwrap_or(false))
}

/// The zone and the source of a volume.
struct Source {
    zone: String,
    snapshot: Option<String>,
    encrypted: bool,
}

fn make(cloud: &mut Cloud, source: Source, shape: Shape, attachment: Option<Attachment>, tags: Tags) -> u64 {
    let Source { zone, snapshot, encrypted } = source;
    let transition = StateTransition::new("creating", "available", cloud.now, cloud.options.volume_creating);
    let created = cloud.timestamp();
    let new = |id| Volume {
        id,
        zone,
        shape,
        encrypted,
        snapshot,
        created,
        transition,
        attachment,
        modification: None,
    };
    cloud.make(tags, new)
}

/// The root volume settings of a launch.
#[derive(Debug, Clone)]
pub(crate) struct Root {
    shape: Shape,
    encrypted: bool,
    pub(crate) goes_with_it: bool,
    pub(crate) tags: Tags,
}

impl Root {
    /// From the launch's block device mapping.
    pub(crate) fn of(mapping: &Form, tags: Tags) -> Result<Self, Refusal> {
        let goes_with_it = mapping.flag("Ebs.DeleteOnTermination")?.unwrap_or(true);
        Ok(Self {
            shape: Shape::of(mapping, "Ebs.")?,
            encrypted: flag(mapping, "Ebs.Encrypted")?,
            goes_with_it,
            tags,
        })
    }

    /// Creates it for an instance; returns its id.
    pub(crate) fn make(&self, cloud: &mut Cloud, instance: &str, zone: &str) -> String {
        let attachment = Attachment::of_root(instance, self.goes_with_it, cloud.now, cloud.timestamp());
        let source = Source { zone: zone.to_owned(), snapshot: None, encrypted: self.encrypted };
        let number = make(cloud, source, self.shape.clone(), Some(attachment), self.tags.clone());
        ids::<Volume>(cloud, [number]).pop().unwrap_or_default()
    }
}

fn described(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    if form.get("VolumeId.1").is_some() && form.get("MaxResults").is_some() {
        let message = "The parameter volumeSet cannot be used with the parameter maxResults";
        return Err(Refusal::new("InvalidParameterCombination", message));
    }
    describe::<Volume>(cloud, form)
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("VolumeId")?;
    let number = cloud.number::<Volume>(id)?;
    let volume = cloud.one::<Volume>(id)?;
    if let Some(attachment) = &volume.attachment {
        let message = format!("Volume {id} is currently attached to {}", attachment.instance);
        return Err(Refusal::new("VolumeInUse", message));
    }
    if volume.state(cloud.now) != "available" {
        let message = format!("The volume '{id}' is in the 'creating' state.");
        return Err(Refusal::new("IncorrectState", message));
    }
    cloud.remove_object::<Volume>(number);
    Ok(done(vec![id.to_owned()]))
}
