//! The desired state of an address, and its comparison with the observed state. Pure.

use kraken_aws::{
    bounds::{INSTANCE_ID, NETWORK_INTERFACE_ID},
    diff::changed,
    validator::SpecValidator,
};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{api::ElasticIPSpec, aws::Address};

/// The desired state.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) instance_id: Option<Resolved<String>>,
    pub(super) network_interface_id: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Debug)]
pub(crate) enum Change {
    /// Associates it with the desired object. AWS disassociates it from any other.
    Associate,
}

pub(super) fn desired(spec: &ElasticIPSpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let instance_id =
        validator.optional("instanceID", spec.instance_id.as_ref(), |id: &str| INSTANCE_ID.check(id));
    let interface = spec.network_interface_id.as_ref();
    let network_interface_id =
        validator.optional("networkInterfaceID", interface, |id: &str| NETWORK_INTERFACE_ID.check(id));
    if spec.instance_id.is_some() && spec.network_interface_id.is_some() {
        validator.problem("networkInterfaceID", "cannot be combined with instanceID");
    }
    let desired = Desired { instance_id: instance_id?, network_interface_id: network_interface_id? };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, address: &Address) -> Vec<Difference<Change>> {
    let have = address.instance_id.as_ref();
    let instance = changed("instanceID", desired.instance_id.as_ref(), have, Change::Associate);
    let (wanted, have) = (desired.network_interface_id.as_ref(), address.network_interface_id.as_ref());
    instance.into_iter().chain(changed("networkInterfaceID", wanted, have, Change::Associate)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::elastic_ip::ElasticIps;
    use kraken_aws::testing::{self, rendered};
    use serde_json::{Value, json};

    fn compared(spec: Value, address: &Address) -> Vec<String> {
        rendered(differences(&testing::desired::<ElasticIps>(spec), address))
    }

    fn of_instance() -> Address {
        Address {
            instance_id: Some("i-1".into()),
            network_interface_id: Some("eni-1".into()),
            ..Address::default()
        }
    }

    #[test]
    fn a_missing_or_wrong_association_is_corrected() {
        let wanted = || json!({"instanceID": {"value": "i-1"}});
        assert!(compared(wanted(), &of_instance()).is_empty());
        assert_eq!(compared(wanted(), &Address::default()), ["instanceID: (absent) becomes i-1: Associate"]);
        assert_eq!(
            compared(json!({"networkInterfaceID": {"value": "eni-2"}}), &of_instance()),
            ["networkInterfaceID: eni-1 becomes eni-2: Associate"]
        );
    }

    #[test]
    fn an_association_with_a_nat_gateway_is_not_changed() {
        assert!(compared(json!({}), &of_instance()).is_empty());
    }

    #[test]
    fn at_most_one_association_is_accepted() {
        let both = json!({"instanceID": {"value": "web"}, "networkInterfaceID": {"value": "eni-1"}});
        assert_eq!(
            testing::problems::<ElasticIps>(both),
            [
                "spec.instanceID: must look like i-0abc1234def567890",
                "spec.networkInterfaceID: cannot be combined with instanceID",
            ]
        );
    }
}
