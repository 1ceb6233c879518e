//! The desired state of an internet gateway, and its comparison with the observed state. Pure.

use kraken_aws::{bounds::VPC_ID, diff::changed, validator::SpecValidator};
use kraken_spoke::{Difference, Resolved, Resolver};

use super::{api::InternetGatewaySpec, aws::InternetGateway};

/// The desired state.
#[derive(Debug)]
pub(crate) struct Desired {
    pub(super) vpc_id: Option<Resolved<String>>,
}

/// A change in place.
#[derive(Debug)]
pub(crate) enum Change {
    /// Attaches it to the desired VPC, after detaching it from any other.
    Attach,
}

pub(super) fn desired(spec: &InternetGatewaySpec, values: &mut Resolver<'_>) -> Option<Desired> {
    let mut validator = SpecValidator::new(values);
    let vpc_id = validator.optional("vpcID", spec.vpc_id.as_ref(), |id: &str| VPC_ID.check(id));
    let desired = Desired { vpc_id: vpc_id? };
    validator.is_valid().then_some(desired)
}

pub(super) fn differences(desired: &Desired, gateway: &InternetGateway) -> Vec<Difference<Change>> {
    let have = gateway.attached_to();
    changed("vpcID", desired.vpc_id.as_ref(), have.as_ref(), Change::Attach).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::internet_gateway::InternetGateways;
    use kraken_aws::testing::{self, rendered};
    use serde_json::json;

    fn compared(gateway: &InternetGateway) -> Vec<String> {
        let desired = testing::desired::<InternetGateways>(json!({"vpcID": {"value": "vpc-1"}}));
        rendered(differences(&desired, gateway))
    }

    #[test]
    fn a_missing_or_wrong_attachment_is_corrected() {
        assert_eq!(compared(&InternetGateway::default()), ["vpcID: (absent) becomes vpc-1: Attach"]);
        assert_eq!(
            compared(&InternetGateway::default().with_attachment("vpc-2", "available")),
            ["vpcID: vpc-2 becomes vpc-1: Attach"]
        );
    }

    #[test]
    fn an_existing_or_pending_attachment_is_not_repeated() {
        for state in ["available", "attached", "attaching"] {
            assert!(
                compared(&InternetGateway::default().with_attachment("vpc-1", state)).is_empty(),
                "{state}"
            );
        }
        assert!(!compared(&InternetGateway::default().with_attachment("vpc-1", "detached")).is_empty());
    }

    #[test]
    fn without_a_vpc_the_attachment_is_not_managed() {
        let desired = testing::desired::<InternetGateways>(json!({}));
        let attached = InternetGateway::default().with_attachment("vpc-2", "available");
        assert!(differences(&desired, &attached).is_empty());
    }

    #[test]
    fn a_vpc_is_specified_by_its_id() {
        let found = testing::problems::<InternetGateways>(json!({"vpcID": {"value": "main"}}));
        assert_eq!(found, ["spec.vpcID: must look like vpc-0abc1234def567890"]);
    }
}
