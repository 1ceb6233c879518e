//! Elastic IP addresses in AWS.

use kraken_aws::{
    Aws, AwsResource, TagOptions, Tags,
    ec2::types::{self, DomainType, ResourceType},
    lookup::Tagged,
    missing::unless_done,
    release::filter,
    resolved::exposed,
    resource::{Creation, DescribeQuery, RemoteObject},
    tags,
};
use kraken_spoke::{Difference, Failure, FailureClass, Resolver};
use serde::Serialize;

use super::{
    api::{ElasticIP, ElasticIPSpec},
    desired::{self, Change, Desired},
};

/// The kind ElasticIP.
pub(crate) struct ElasticIps;

/// An observed Elastic IP, which is the published state.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(rename_all = "PascalCase")]
pub(crate) struct Address {
    pub(super) allocation_id: String,
    pub(super) public_ip: Option<String>,
    pub(super) association_id: Option<String>,
    pub(super) instance_id: Option<String>,
    pub(super) network_interface_id: Option<String>,
    pub(super) private_ip_address: Option<String>,
    pub(super) network_border_group: Option<String>,
    #[serde(serialize_with = "tags::written")]
    pub(super) tags: Tags,
}

impl Tagged for Address {
    fn id(&self) -> &str {
        &self.allocation_id
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }
}

impl RemoteObject for Address {}

fn address(address: types::Address) -> Address {
    // Some responses contain an empty string for a missing value.
    let text = |text: Option<String>| text.filter(|text| !text.is_empty());
    Address {
        allocation_id: address.allocation_id.unwrap_or_default(),
        public_ip: text(address.public_ip),
        association_id: text(address.association_id),
        instance_id: text(address.instance_id),
        network_interface_id: text(address.network_interface_id),
        private_ip_address: text(address.private_ip_address),
        network_border_group: text(address.network_border_group),
        tags: tags::from_sdk(&address.tags.unwrap_or_default()),
    }
}

impl AwsResource for ElasticIps {
    type Kind = ElasticIP;
    type Desired = Desired;
    type RemoteObject = Address;
    type Change = Change;
    const NOUN: &'static str = "address";
    const STATE_KEY: &'static str = "elasticIP";
    const SECRET_FIELD_PATHS: &[(&str, &[&str])] = &[
        ("instanceID", &["elasticIP.InstanceId"]),
        ("networkInterfaceID", &["elasticIP.NetworkInterfaceId"]),
    ];
    const SUMMARY: &[(&str, &str)] =
        &[("Public IP", "elasticIP.PublicIp"), ("Instance", "elasticIP.InstanceId")];

    fn desired(spec: &ElasticIPSpec, values: &mut Resolver<'_>) -> Option<Desired> {
        desired::desired(spec, values)
    }

    fn tags(spec: &ElasticIPSpec) -> &TagOptions {
        &spec.tags
    }

    fn differences(desired: &Desired, address: &Address) -> Vec<Difference<Change>> {
        desired::differences(desired, address)
    }

    /// This API has no pagination: it returns all objects.
    async fn read(aws: &Aws, query: DescribeQuery) -> Result<Vec<Address>, Failure> {
        let call = aws.ec2().describe_addresses().set_allocation_ids(query.ids).set_filters(query.filters);
        let found = aws.call("DescribeAddresses", "failed to describe addresses", call.send()).await?;
        Ok(found.addresses.unwrap_or_default().into_iter().map(address).collect())
    }

    async fn create(aws: &Aws, _: &Desired, creation: &Creation<'_>) -> Result<Address, Failure> {
        let tags = creation.specifications(ResourceType::ElasticIp);
        let call =
            aws.ec2_once().allocate_address().domain(DomainType::Vpc).set_tag_specifications(Some(tags));
        let made = aws.call("AllocateAddress", "failed to allocate the address", call.send()).await?;
        Ok(Address { allocation_id: made.allocation_id.unwrap_or_default(), ..Address::default() })
    }

    async fn update(aws: &Aws, change: &Change, desired: &Desired, address: &Address) -> Result<(), Failure> {
        let Change::Associate = change;
        ensure_no_other_address(aws, desired, address).await?;
        let call = aws
            .ec2()
            .associate_address()
            .allocation_id(&address.allocation_id)
            .set_instance_id(exposed(desired.instance_id.as_ref()))
            .set_network_interface_id(exposed(desired.network_interface_id.as_ref()))
            .allow_reassociation(true);
        aws.call("AssociateAddress", "failed to associate the address", call.send()).await.map(drop)
    }

    async fn delete(aws: &Aws, address: &Address) -> Result<(), Failure> {
        if let Some(association) = &address.association_id {
            let call = aws.ec2().disassociate_address().association_id(association);
            let result =
                aws.call("DisassociateAddress", "failed to disassociate the address", call.send()).await;
            unless_done(result, &["InvalidAssociationID.NotFound"])?;
        }
        let call = aws.ec2().release_address().allocation_id(&address.allocation_id);
        aws.call("ReleaseAddress", "failed to release the address", call.send()).await.map(drop)
    }
}

/// AWS disassociates an instance's address to associate the new one: two resources for the same instance would do so
/// alternately forever.
async fn ensure_no_other_address(aws: &Aws, desired: &Desired, own: &Address) -> Result<(), Failure> {
    let (name, id) = match (&desired.instance_id, &desired.network_interface_id) {
        (Some(id), _) => ("instance-id", id.expose()),
        (None, Some(id)) => ("network-interface-id", id.expose()),
        (None, None) => return Ok(()),
    };
    let filters = Some(vec![filter(name, vec![id.clone()])]);
    let found = ElasticIps::read(aws, DescribeQuery { ids: None, filters }).await?;
    let Some(other) = found.into_iter().find(|other| other.allocation_id != own.allocation_id) else {
        return Ok(());
    };
    let of = tags::owner(&other.tags).map(|owner| format!(" of {}", owner.owner)).unwrap_or_default();
    Err(Failure {
        class: FailureClass::Terminal,
        action: "failed to associate the address".to_owned(),
        code: String::new(),
        message: format!("{id} already has the address {}{of}; disassociate it first", other.allocation_id),
    })
}
