use super::*;

#[test]
fn each_action_has_its_own_errors_and_those_of_its_api() {
    let codes = |action| documented_errors(action).iter().map(|error| error.code).collect::<Vec<_>>();
    assert_eq!(codes("CreateVpc")[0], "VpcLimitExceeded");
    assert!(codes("CreateVpc").contains(&"RequestLimitExceeded"));
    assert!(codes("SetIpAddressType").contains(&"Throttling") && codes("AddTags").contains(&"Throttling"));
    assert!(codes("UpdateSecurityGroupRuleDescriptionsIngress").contains(&"Unavailable"));
    let no_capacity = documented_error("RunInstances", "InsufficientInstanceCapacity").unwrap();
    assert!(no_capacity.status == 500 && !no_capacity.applied && !no_capacity.depends_on_state);
    assert_eq!(documented_error("CreateVpc", "Nothing"), None);
}

#[test]
fn every_error_for_random_faults_has_a_message() {
    let all = ec2::OWN
        .iter()
        .chain(elb::OWN)
        .flat_map(|(_, own)| *own)
        .chain(ec2::COMMON)
        .chain(elb::COMMON)
        .chain(STS);
    let silent: Vec<&str> = all
        .filter(|error| !error.depends_on_state && error.message.is_empty())
        .map(|error| error.code)
        .collect();
    assert_eq!(silent, [""; 0]);
}
