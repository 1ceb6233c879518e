//! Elastic IP addresses: in use by an instance or a NAT gateway, or free.

use std::collections::BTreeSet;

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::describe_of;
use crate::markup::Xml;
use crate::model::Address;
use crate::model::address::Use;
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "AllocateAddress" => allocate,
        "DescribeAddresses" => |cloud, form| described(cloud, form),
        "ReleaseAddress" => release,
        _ => return None,
    };
    Some(handler)
}

impl Described for Address {
    const IDS: &'static str = "AllocationId";
    const SET: &'static str = "addressesSet";
    const FILTERS: &'static [&'static str] = &[
        "allocation-id",
        "association-id",
        "domain",
        "instance-id",
        "network-interface-id",
        "network-border-group",
        "private-ip-address",
        "public-ip",
    ];
    const PAGE: Option<(usize, usize)> = None;

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let used = self.used.as_ref();
        let of_use = |get: fn(&Use) -> Option<&String>| used.and_then(get).cloned().into_iter().collect();
        match filter {
            "allocation-id" => vec![self.id.clone()],
            "public-ip" => vec![self.ip.clone()],
            "domain" => vec!["vpc".to_owned()],
            "network-border-group" => vec![cloud.options.region.clone()],
            "association-id" => of_use(|used| Some(&used.association)),
            "instance-id" => of_use(|used| used.instance.as_ref()),
            "network-interface-id" => of_use(|used| Some(&used.interface)),
            _ => of_use(|used| Some(&used.private)),
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("publicIp", &self.ip);
        xml.text("allocationId", &self.id);
        xml.text("domain", "vpc");
        xml.text("publicIpv4Pool", "amazon");
        xml.text("networkBorderGroup", &cloud.options.region);
        if let Some(used) = &self.used {
            xml.text("associationId", &used.association);
            xml.optional("instanceId", used.instance.as_ref());
            xml.text("networkInterfaceId", &used.interface);
            xml.text("networkInterfaceOwnerId", &cloud.options.account);
            xml.text("privateIpAddress", &used.private);
        }
    }
}

fn allocate(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let tags = given(form, Kind::Address)?;
    let [.., a, b, c] = cloud.registry.next_number(Kind::Address).to_be_bytes();
    let ip = format!("52.{a}.{b}.{c}");
    let number = cloud.make(tags, |id| Address { id, ip: ip.clone(), used: None });
    let id = cloud.store.addresses.get(&number).map(|address| address.id.clone()).unwrap_or_default();
    Ok(Answer::about(id.clone(), |xml| {
        xml.text("publicIp", ip);
        xml.text("allocationId", id);
        xml.text("domain", "vpc");
        xml.text("publicIpv4Pool", "amazon");
        xml.text("networkBorderGroup", &cloud.options.region);
    }))
}

fn described(cloud: &Cloud, form: &Form) -> Result<Answer, Refusal> {
    let ips = form.list("PublicIp");
    let mut found = BTreeSet::new();
    for ip in &ips {
        let its = cloud.store.addresses.iter().find(|(_, address)| address.ip == **ip);
        let missing = || Refusal::new("InvalidAddress.NotFound", format!("Address '{ip}' not found."));
        found.insert(*its.ok_or_else(missing)?.0);
    }
    describe_of::<Address>(cloud, form, (!ips.is_empty()).then_some(&found))
}

fn release(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("AllocationId")?;
    let number = cloud.number::<Address>(id)?;
    let address = cloud.one::<Address>(id)?;
    if address.used.is_some() {
        let message = format!("Address {} is in use.", address.ip);
        return Err(Refusal::new("InvalidIPAddress.InUse", message));
    }
    cloud.remove_object::<Address>(number);
    Ok(done(vec![id.to_owned()]))
}
