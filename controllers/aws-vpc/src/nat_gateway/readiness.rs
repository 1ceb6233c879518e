//! Checks before the creation of a NAT gateway, for conditions in which AWS accepts the call and the gateway fails a minute
//! later: a failed gateway exists for an hour, and with `lifecycle.replace` failures would repeat.

use kraken_aws::{
    ec2::types::Address,
    lookup::Tagged as _,
    prelude::*,
    release::filter,
    resource::{Phase, RemoteObject as _},
    tags::{CLUSTER, UID},
};
use kraken_kind::{FailureClass, runtime::clock};

use super::{api::Desired, observed::NatGateway, read::read};

/// AWS's code for the failure of a gateway if no internet gateway is attached.
const NOT_ATTACHED: &str = "Gateway.NotAttached";

/// The delay between a failed gateway and the next one, in seconds.
const PAUSE: i64 = 60;

/// Fails if a gateway could not become available now.
pub(super) async fn check(aws: &Aws, desired: &Desired, creation: &Creation<'_>) -> Result<(), Failure> {
    let address = match &desired.allocation_id {
        Some(id) => used(aws, id.expose()).await?,
        None => None,
    };
    let detached = if desired.is_public() { detached(aws, desired.subnet_id.expose()).await? } else { None };
    if address.is_none() && detached.is_none() && creation.launch.epoch == 1 {
        return Ok(());
    }
    let before = own(aws, creation).await?;
    // A call without a response is repeated: it returns the gateway that it created.
    if before.iter().any(|gateway| creation.has_created(gateway.tags())) {
        return Ok(());
    }
    if let Some(why) = failed_lately(&before, clock::now().as_second()) {
        return Err(refusal(FailureClass::NotYet, why));
    }
    if let Some(vpc) = detached {
        let message = format!(
            "no internet gateway is attached to {vpc}, which a public NAT gateway requires; waiting for one"
        );
        return Err(Failure { code: NOT_ATTACHED.to_owned(), ..refusal(FailureClass::NotYet, message) });
    }
    match address {
        Some(address) => Err(in_use(&address, &before)),
        None => Ok(()),
    }
}

/// The address, if it is associated.
async fn used(aws: &Aws, id: &str) -> Result<Option<Address>, Failure> {
    let call = aws.ec2().describe_addresses().allocation_ids(id);
    let found = aws.call("DescribeAddresses", "failed to describe the address", call.send()).await?;
    Ok(found.addresses.unwrap_or_default().into_iter().find(|address| address.association_id().is_some()))
}

/// The VPC of a subnet, if no internet gateway is attached to it.
async fn detached(aws: &Aws, subnet: &str) -> Result<Option<String>, Failure> {
    let call = aws.ec2().describe_subnets().subnet_ids(subnet);
    let found = aws.call("DescribeSubnets", "failed to describe the subnet", call.send()).await?;
    let subnet = found.subnets.unwrap_or_default().into_iter().next();
    let Some(vpc) = subnet.and_then(|subnet| subnet.vpc_id) else { return Ok(None) };
    let call = aws.ec2().describe_internet_gateways().filters(filter("attachment.vpc-id", vec![vpc.clone()]));
    let what = "failed to describe internet gateways";
    let found = aws.call("DescribeInternetGateways", what, call.send()).await?;
    Ok(found.internet_gateways.unwrap_or_default().is_empty().then_some(vpc))
}

/// Every current or former gateway of the resource that AWS still returns.
async fn own(aws: &Aws, creation: &Creation<'_>) -> Result<Vec<NatGateway>, Failure> {
    let value = |key: &str| creation.tags.get(key).cloned().into_iter().collect();
    let filters = [CLUSTER, UID].map(|key| filter(&format!("tag:{key}"), value(key)));
    read(aws, DescribeQuery { ids: None, filters: Some(filters.into()) }).await
}

fn failed_lately(before: &[NatGateway], now: i64) -> Option<String> {
    before.iter().find_map(|gateway| match gateway.phase() {
        Phase::Failed(why) if gateway.created.is_some_and(|at| now.saturating_sub(at) < PAUSE) => {
            Some(format!("{} failed: {why}; the next gateway is created a minute later", gateway.id()))
        }
        _ => None,
    })
}

/// AWS releases the address of a deleted gateway some time later, also of one that was deleted outside Kraken.
fn in_use(address: &Address, before: &[NatGateway]) -> Failure {
    let id = address.allocation_id().unwrap_or_default();
    // Another object may have taken it meanwhile.
    let holds = |gateway: &NatGateway| gateway.holds(id, address.network_interface_id());
    let is_over =
        |gateway: &&NatGateway| matches!(gateway.phase(), Phase::Deleting | Phase::Deleted) && holds(gateway);
    let others = before.iter().filter(|gateway| !is_over(gateway));
    match before.iter().find(is_over) {
        Some(over) if !others.clone().any(holds) => {
            let message = format!(
                "allocationID {id} is still associated with {}, which is deleted; waiting until AWS releases the address; if \
                 this persists, disassociate it",
                over.id()
            );
            refusal(FailureClass::NotYet, message)
        }
        _ => refusal(FailureClass::Terminal, user(address, before)),
    }
}

/// The message with the object that uses the address, and the required action.
fn user(address: &Address, before: &[NatGateway]) -> String {
    let id = address.allocation_id().unwrap_or_default();
    let has = |gateway: &&NatGateway| {
        matches!(gateway.phase(), Phase::Available | Phase::Pending(_)) && gateway.holds(id, None)
    };
    if let Some(own) = before.iter().find(has) {
        return format!(
            "allocationID {id} is used by {}, which this resource replaces: set lifecycle.replace to DeleteFirst, or \
             set another address",
            own.id()
        );
    }
    let instance = address.instance_id().filter(|id| !id.is_empty());
    let user = instance.or(address.network_interface_id()).unwrap_or("another object");
    format!(
        "allocationID {id} is associated with {user} already: disassociate it first, or set another address"
    )
}

fn refusal(class: FailureClass, message: String) -> Failure {
    Failure { class, action: "failed to create the NAT gateway".to_owned(), code: String::new(), message }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::tags::EPOCH;

    fn gateway(epoch: &str, state: &str, created: i64) -> NatGateway {
        let tags = [(CLUSTER, "c"), (UID, "u"), (EPOCH, epoch)];
        let tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        let made = NatGateway {
            nat_gateway_id: "nat-1".into(),
            state: state.into(),
            failure: (state == "failed").then(|| "no capacity".to_owned()),
            created: Some(created),
            tags,
            ..NatGateway::default()
        };
        made.with_address("eipalloc-1")
    }

    fn address(instance: Option<&str>) -> Address {
        let address = Address::builder().allocation_id("eipalloc-1").association_id("eipassoc-1");
        address.network_interface_id("eni-1").set_instance_id(instance.map(str::to_owned)).build()
    }

    #[test]
    fn the_address_of_a_deleted_gateway_is_awaited() {
        for state in ["deleting", "deleted"] {
            let found = in_use(&address(None), &[gateway("1", state, 0)]);
            assert_eq!(found.class, FailureClass::NotYet, "{state}");
            assert!(found.message.contains("nat-1, which is deleted; waiting"), "{}", found.message);
        }
        let mut taken = gateway("1", "deleted", 0);
        taken.nat_gateway_addresses[0].network_interface_id = Some("eni-9".into());
        assert_eq!(in_use(&address(None), &[taken]).class, FailureClass::Terminal);
        let live = [gateway("1", "deleted", 0), gateway("2", "available", 0)];
        assert_eq!(in_use(&address(None), &live).class, FailureClass::Terminal);
    }

    #[test]
    fn the_address_of_the_replaced_gateway_requires_delete_first() {
        let found = user(&address(None), &[gateway("1", "available", 0)]);
        assert!(
            found.contains("nat-1, which this resource replaces") && found.contains("DeleteFirst"),
            "{found}"
        );
    }

    #[test]
    fn an_address_in_use_is_rejected_with_its_holder() {
        assert_eq!(
            user(&address(Some("i-1")), &[]),
            "allocationID eipalloc-1 is associated with i-1 already: disassociate it first, or set another address"
        );
        assert!(user(&address(None), &[gateway("1", "deleted", 0)]).contains("eni-1"));
    }

    #[test]
    fn the_next_attempt_after_a_failure_waits_a_minute() {
        assert!(failed_lately(&[gateway("1", "failed", 100)], 130).unwrap().contains("no capacity"));
        assert_eq!(failed_lately(&[gateway("1", "failed", 100)], 161), None);
        assert_eq!(failed_lately(&[gateway("1", "available", 100)], 130), None);
    }
}
