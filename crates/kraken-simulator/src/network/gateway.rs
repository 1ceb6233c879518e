//! Internet gateways.

use crate::answer::{Answer, Handler, done};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, made};
use crate::markup::Xml;
use crate::model::{Address, InternetGateway, LoadBalancer, Vpc};
use crate::refusal::Refusal;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateInternetGateway" => create,
        "DescribeInternetGateways" => describe::<InternetGateway>,
        "AttachInternetGateway" => attach,
        "DetachInternetGateway" => detach,
        "DeleteInternetGateway" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for InternetGateway {
    const IDS: &'static str = "InternetGatewayId";
    const SET: &'static str = "internetGatewaySet";
    const FILTERS: &'static [&'static str] =
        &["internet-gateway-id", "attachment.vpc-id", "attachment.state", "owner-id"];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        match filter {
            "internet-gateway-id" => vec![self.id.clone()],
            "owner-id" => vec![cloud.options.account.clone()],
            "attachment.vpc-id" => self.vpc.iter().cloned().collect(),
            _ => self.vpc.iter().map(|_| "available".to_owned()).collect(),
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("internetGatewayId", &self.id);
        xml.text("ownerId", &cloud.options.account);
        xml.list("attachmentSet", &self.vpc, |xml, vpc| {
            xml.text("vpcId", vpc);
            xml.text("state", "available");
        });
    }
}

/// Whether a VPC is connected to the internet.
pub(crate) fn has_gateway(cloud: &Cloud, vpc: &str) -> bool {
    cloud.store.gateways.values().any(|gateway| gateway.vpc.as_deref() == Some(vpc))
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let tags = given(form, Kind::InternetGateway)?;
    let number = cloud.make(tags, |id| InternetGateway { id, vpc: None });
    Ok(made::<InternetGateway>(cloud, number, "internetGateway"))
}

fn attach(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (id, vpc) = both(cloud, form)?;
    if let Some(other) = &cloud.one::<InternetGateway>(&id)?.vpc {
        let message = format!("resource {id} is already attached to network {other}");
        return Err(Refusal::new("Resource.AlreadyAssociated", message));
    }
    if has_gateway(cloud, &vpc) {
        let message = format!("Network {vpc} already has an internet gateway attached");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    cloud.one_mut::<InternetGateway>(&id)?.vpc = Some(vpc.clone());
    Ok(done(vec![id, vpc]))
}

fn detach(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (id, vpc) = both(cloud, form)?;
    if cloud.one::<InternetGateway>(&id)?.vpc.as_ref() != Some(&vpc) {
        let message = format!("resource {id} is not attached to network {vpc}");
        return Err(Refusal::new("Gateway.NotAttached", message));
    }
    if is_reachable(cloud, &vpc) {
        let message = format!(
            "Network {vpc} has some mapped public address(es). Please unmap those public address(es) before \
             detaching the gateway."
        );
        return Err(Refusal::dependency(message));
    }
    cloud.one_mut::<InternetGateway>(&id)?.vpc = None;
    Ok(done(vec![id, vpc]))
}

/// Whether any object in a VPC has a public address.
fn is_reachable(cloud: &Cloud, vpc: &str) -> bool {
    let is_here = |address: &Address| address.used.as_ref().is_some_and(|used| used.vpc == vpc);
    cloud.all::<Address>().values().any(is_here)
        || cloud.live_instances().any(|one| one.place.vpc == vpc && one.public_address(cloud.now).is_some())
        || cloud.all::<LoadBalancer>().values().any(|one| one.vpc == vpc && one.faces_internet())
}

fn both(cloud: &Cloud, form: &Form) -> Result<(String, String), Refusal> {
    let (id, vpc) = (form.required("InternetGatewayId")?, form.required("VpcId")?);
    cloud.one::<InternetGateway>(id)?;
    cloud.one::<Vpc>(vpc)?;
    Ok((id.to_owned(), vpc.to_owned()))
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("InternetGatewayId")?;
    let number = cloud.number::<InternetGateway>(id)?;
    if cloud.one::<InternetGateway>(id)?.vpc.is_some() {
        let message = format!("The internetGateway '{id}' has dependencies and cannot be deleted.");
        return Err(Refusal::dependency(message));
    }
    cloud.remove_object::<InternetGateway>(number);
    Ok(done(vec![id.to_owned()]))
}
