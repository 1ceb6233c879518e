//! The size and the performance of volumes, with AWS's rules for them.

use crate::form::Form;
use crate::markup::Xml;
use crate::refusal::Refusal;
use crate::state_transition::StateTransition;

const TYPES: [&str; 7] = ["standard", "gp2", "gp3", "io1", "io2", "st1", "sc1"];

/// The mutable fields of a volume.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Shape {
    /// In GiB.
    pub(crate) size: usize,
    /// Its type.
    pub(crate) of: String,
    pub(crate) iops: Option<usize>,
    pub(crate) throughput: Option<usize>,
}

impl Shape {
    /// The values in a call, by parameters with this prefix.
    pub(crate) fn of(form: &Form, prefix: &str) -> Result<Self, Refusal> {
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
    pub(crate) fn checked(mut self) -> Result<Self, Refusal> {
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

    pub(crate) fn write(&self, xml: &mut Xml) {
        xml.text("size", self.size);
        xml.text("volumeType", &self.of);
        xml.optional("iops", self.speed().map(|speed| speed.to_string()).as_ref());
        xml.optional("throughput", self.throughput.map(|speed| speed.to_string()).as_ref());
    }

    pub(crate) fn write_as(&self, xml: &mut Xml, which: &str) {
        xml.text(&format!("{which}Size"), self.size);
        xml.text(&format!("{which}VolumeType"), &self.of);
        xml.optional(&format!("{which}Iops"), self.speed().map(|speed| speed.to_string()).as_ref());
        xml.optional(&format!("{which}Throughput"), self.throughput.map(|speed| speed.to_string()).as_ref());
    }
}

/// The change in progress, or the last one.
#[derive(Debug, Clone)]
pub(crate) struct Modification {
    pub(crate) before: Shape,
    pub(crate) transition: StateTransition<&'static str>,
    pub(crate) started: String,
}
