//! Security groups. A group that is in use, or that another group's rule refers to, cannot be deleted.

use crate::answer::{Answer, Handler};
use crate::cloud::Cloud;
use crate::described::Described;
use crate::form::Form;
use crate::given_tags::given;
use crate::kind::Kind;
use crate::listing::{describe, describe_of, ids};
use crate::markup::Xml;
use crate::model::permissions::{Peer, Permission, Rule, write_permissions};
use crate::model::security_group::DEFAULT;
use crate::model::{LoadBalancer, SecurityGroup, Vpc};
use crate::refusal::Refusal;
use crate::tags::Tags;

pub(super) fn handler(action: &str) -> Option<Handler> {
    let handler: Handler = match action {
        "CreateSecurityGroup" => create,
        "DescribeSecurityGroups" => described,
        "DeleteSecurityGroup" => delete,
        _ => return None,
    };
    Some(handler)
}

impl Described for SecurityGroup {
    const IDS: &'static str = "GroupId";
    const SET: &'static str = "securityGroupInfo";
    const FILTERS: &'static [&'static str] = &[
        "group-id",
        "group-name",
        "description",
        "vpc-id",
        "owner-id",
        "ip-permission.cidr",
        "ip-permission.ipv6-cidr",
        "ip-permission.group-id",
        "ip-permission.protocol",
        "ip-permission.from-port",
        "ip-permission.to-port",
        "egress.ip-permission.cidr",
        "egress.ip-permission.ipv6-cidr",
        "egress.ip-permission.group-id",
        "egress.ip-permission.protocol",
        "egress.ip-permission.from-port",
        "egress.ip-permission.to-port",
    ];

    fn values(&self, filter: &str, cloud: &Cloud) -> Vec<String> {
        let (egress, rest) = filter.strip_prefix("egress.").map_or((false, filter), |rest| (true, rest));
        match rest {
            "group-id" => vec![self.id.clone()],
            "group-name" => vec![self.name.clone()],
            "description" => vec![self.description.clone()],
            "vpc-id" => vec![self.vpc.clone()],
            "owner-id" => vec![cloud.options.account.clone()],
            "ip-permission.cidr" => self.permissions(egress, |one| one.peer.v4().cloned()),
            "ip-permission.ipv6-cidr" => self.permissions(egress, |one| one.peer.v6().cloned()),
            "ip-permission.group-id" => self.permissions(egress, |one| one.peer.group().cloned()),
            "ip-permission.protocol" => self.permissions(egress, |one| Some(one.protocol.clone())),
            "ip-permission.from-port" => self.permissions(egress, |one| Some(one.ports?.0.to_string())),
            _ => self.permissions(egress, |one| Some(one.ports?.1.to_string())),
        }
    }

    fn write(&self, xml: &mut Xml, cloud: &Cloud) {
        xml.text("groupId", &self.id);
        xml.text("groupName", &self.name);
        xml.text("groupDescription", &self.description);
        xml.text("vpcId", &self.vpc);
        xml.text("ownerId", &cloud.options.account);
        xml.text("securityGroupArn", arn(cloud, &self.id));
        let account = cloud.options.account.as_str();
        write_permissions(
            xml,
            account,
            "ipPermissions",
            self.rules.iter().filter(|rule| !rule.permission.egress),
        );
        write_permissions(
            xml,
            account,
            "ipPermissionsEgress",
            self.rules.iter().filter(|rule| rule.permission.egress),
        );
    }
}

/// Creates the default group of a VPC: its members may communicate with each other, and outbound traffic is allowed.
pub(super) fn make_default(cloud: &mut Cloud, vpc: &str) {
    let (inner, outer) = (cloud.part_ids.next("sgr-"), Rule::allow_all_egress(&mut cloud.part_ids));
    cloud.make(Tags::new(), |id| {
        let among = Permission {
            egress: false,
            protocol: "-1".to_owned(),
            ports: None,
            peer: Peer::Group(id.clone()),
        };
        let among = Rule { id: inner, permission: among, description: None };
        SecurityGroup {
            id,
            name: DEFAULT.to_owned(),
            description: "default VPC security group".to_owned(),
            vpc: vpc.to_owned(),
            rules: vec![among, outer],
        }
    });
}

/// The default group of a VPC.
pub(crate) fn default_group(cloud: &Cloud, vpc: &str) -> Option<String> {
    let mut groups = cloud.store.security_groups.values();
    groups.find(|group| group.vpc == vpc && group.is_default()).map(|group| group.id.clone())
}

fn arn(cloud: &Cloud, id: &str) -> String {
    format!("arn:aws:ec2:{}:security-group/{id}", cloud.options.place())
}

fn create(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let (name, description) = (form.required("GroupName")?, form.required("GroupDescription")?);
    let vpc = cloud.one::<Vpc>(form.required("VpcId")?)?.id.clone();
    if name == DEFAULT || name.starts_with("sg-") {
        let message = format!("Cannot use reserved security group name: {name}");
        return Err(Refusal::new("InvalidParameterValue", message));
    }
    if cloud.store.security_groups.values().any(|group| group.vpc == vpc && group.name == name) {
        let message = format!("The security group '{name}' already exists for VPC '{vpc}'");
        return Err(Refusal::new("InvalidGroup.Duplicate", message));
    }
    let tags = given(form, Kind::SecurityGroup)?;
    let rules = vec![Rule::allow_all_egress(&mut cloud.part_ids)];
    let (name, description) = (name.to_owned(), description.to_owned());
    let number = cloud.make(tags.clone(), |id| SecurityGroup { id, name, description, vpc, rules });
    let ids = ids::<SecurityGroup>(cloud, [number]);
    let mut body = Xml::default();
    body.text("return", true);
    body.optional("groupId", ids.first());
    body.text("securityGroupArn", arn(cloud, ids.first().map_or("", |id| id)));
    body.tags(&tags);
    Ok(Answer { body, ids })
}

/// DescribeSecurityGroups. By name, AWS searches only the default VPC, which the simulator does not have.
fn described(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    match form.list("GroupName").as_slice() {
        [] => describe::<SecurityGroup>(cloud, form),
        names => {
            let found = cloud.store.security_groups.iter().filter(|(_, group)| names.contains(&&*group.name));
            let found = found.map(|(number, _)| *number).collect();
            for name in names {
                if !cloud.store.security_groups.values().any(|group| group.name == **name) {
                    return Err(Kind::SecurityGroup.missing(&[name]));
                }
            }
            describe_of::<SecurityGroup>(cloud, form, Some(&found))
        }
    }
}

fn delete(cloud: &mut Cloud, form: &Form) -> Result<Answer, Refusal> {
    let id = form.required("GroupId")?;
    let group = cloud.one::<SecurityGroup>(id)?;
    if group.is_default() {
        let message = format!("the specified group: \"{id}\" name: \"default\" cannot be deleted by a user");
        return Err(Refusal::new("CannotDelete", message));
    }
    let names = |group: &SecurityGroup| {
        let mut peers = group.rules.iter().filter_map(|rule| rule.permission.peer.group());
        group.id != id && peers.any(|peer| peer == id)
    };
    let is_needed = cloud.store.security_groups.values().any(names)
        || cloud.all::<LoadBalancer>().values().any(|one| one.groups.iter().any(|group| group == id))
        || cloud.live_instances().any(|instance| instance.settings.groups.iter().any(|group| group == id));
    if is_needed {
        return Err(Refusal::dependency(format!("resource {id} has a dependent object")));
    }
    let number = cloud.number::<SecurityGroup>(id)?;
    cloud.remove_object::<SecurityGroup>(number);
    Ok(Answer::about(id, |xml| {
        xml.text("return", true);
        xml.text("groupId", id);
    }))
}
