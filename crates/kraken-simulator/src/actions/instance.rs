//! The representation of an instance in Describe calls.

use crate::cloud::Cloud;
use crate::described::Described;
use crate::markup::Xml;
use crate::model::instance::{ROOT_DEVICE, State};
use crate::model::{Instance, SecurityGroup, Volume};

impl Described for Instance {
    const IDS: &'static str = "InstanceId";
    const SET: &'static str = "instancesSet";
    const FILTERS: &'static [&'static str] = &[
        "instance-state-name",
        "instance-id",
        "image-id",
        "instance-type",
        "subnet-id",
        "vpc-id",
        "availability-zone",
        "instance.group-id",
        "key-name",
        "private-ip-address",
        "client-token",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let settings = &self.settings;
        let in_network = self.state(cloud.now) != State::Terminated;
        match filter {
            "instance-state-name" => vec![self.state(cloud.now).name().to_owned()],
            "instance-id" => vec![self.id.clone()],
            "image-id" => vec![settings.image.clone()],
            "instance-type" => vec![settings.instance_type.clone()],
            "availability-zone" => vec![self.place.zone.clone()],
            "key-name" => settings.key_name.iter().cloned().collect(),
            "client-token" => self.token.iter().cloned().collect(),
            "subnet-id" if in_network => vec![settings.subnet.clone()],
            "vpc-id" if in_network => vec![self.place.vpc.clone()],
            "private-ip-address" if in_network => vec![self.place.address.clone()],
            "instance.group-id" if in_network => settings.groups.clone(),
            _ => vec![],
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        self.write_all(xml, cloud);
    }
}

impl Instance {
    /// The representation in DescribeInstances and RunInstances.
    fn write_all(&self, xml: &mut Xml, cloud: &Cloud) {
        let (settings, state) = (&self.settings, self.state(cloud.now));
        xml.text("instanceId", &self.id);
        xml.text("imageId", &settings.image);
        state.write(xml, "instanceState");
        xml.text("instanceType", &settings.instance_type);
        xml.text("amiLaunchIndex", self.index);
        xml.text("launchTime", &self.launch_time);
        xml.optional("keyName", settings.key_name.as_ref());
        xml.optional("clientToken", self.token.as_ref());
        xml.text("architecture", "x86_64");
        xml.text("hypervisor", "xen");
        xml.text("virtualizationType", "hvm");
        xml.text("rootDeviceName", ROOT_DEVICE);
        xml.text("rootDeviceType", "ebs");
        xml.text("ebsOptimized", settings.ebs_optimized);
        xml.tag("placement", |xml| {
            xml.text("availabilityZone", &self.place.zone);
            xml.text("tenancy", "default");
        });
        xml.tag("monitoring", |xml| {
            xml.text("state", if settings.monitoring { "enabled" } else { "disabled" });
        });
        settings.metadata.write(xml, "metadataOptions");
        if let Some(arn) = &settings.profile {
            xml.tag("iamInstanceProfile", |xml| xml.text("arn", arn));
        }
        // A terminated instance has lost its volumes, addresses and interfaces, and is in no network.
        if state != State::Terminated {
            write_devices(xml, cloud, self);
            self.write_network(xml, cloud);
        }
    }

    fn write_network(&self, xml: &mut Xml, cloud: &Cloud) {
        let (address, public) = (&self.place.address, self.public_address(cloud.now));
        let private_name = format!("ip-{}.ec2.internal", address.replace('.', "-"));
        let public_name =
            public.as_ref().map(|ip| format!("ec2-{}.compute-1.amazonaws.com", ip.replace('.', "-")));
        let place = |xml: &mut Xml| {
            xml.text("vpcId", &self.place.vpc);
            xml.text("subnetId", &self.settings.subnet);
            xml.text("privateIpAddress", address);
            xml.text("privateDnsName", &private_name);
            xml.list("groupSet", &self.settings.groups, |xml, group| {
                xml.text("groupId", group);
                let known = cloud.existing::<SecurityGroup>(group);
                xml.text("groupName", known.map_or("default", |known| &known.name));
            });
        };
        place(xml);
        xml.optional("ipAddress", public.as_ref());
        xml.optional("dnsName", public_name.as_ref());
        xml.list("networkInterfaceSet", [()], |xml, ()| {
            let [.., a, b, c] = self.number.to_be_bytes();
            xml.text("networkInterfaceId", self.interface());
            xml.text("macAddress", format!("02:00:00:{a:02x}:{b:02x}:{c:02x}"));
            xml.text("ownerId", &cloud.options.account);
            xml.text("status", "in-use");
            place(xml);
            xml.tag("attachment", |xml| {
                xml.text("deviceIndex", 0);
                xml.text("status", "attached");
            });
            if let (Some(ip), Some(name)) = (&public, &public_name) {
                xml.tag("association", |xml| {
                    xml.text("publicIp", ip);
                    xml.text("publicDnsName", name);
                });
            }
        });
    }
}

/// The volumes in an instance's description.
fn write_devices(xml: &mut Xml, cloud: &Cloud, instance: &Instance) {
    let volumes = instance.volumes.iter().filter_map(|id| cloud.existing::<Volume>(id));
    let devices = volumes.filter_map(|volume| Some((volume, volume.attachment.as_ref()?)));
    xml.list("blockDeviceMapping", devices, |xml, (volume, attachment)| {
        xml.text("deviceName", &attachment.device);
        xml.tag("ebs", |xml| {
            xml.text("volumeId", &volume.id);
            xml.text("status", attachment.state(cloud.now));
            xml.text("deleteOnTermination", attachment.goes_with_it);
        });
    });
}
