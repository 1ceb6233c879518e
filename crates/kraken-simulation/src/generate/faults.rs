//! Generation of faults.

use std::time::Duration;

use super::mix::StepClass;
use super::users::Users;
use crate::kinds;
use crate::random::Random;
use crate::schedule::{CallMatch, Controller, Fault, Moment, ObjectName, Side, Tamper};

/// A fault of the class.
pub(crate) fn fault(rng: &mut Random, class: StepClass, users: &Users) -> Fault {
    let object = users.spoke_object(rng);
    // Faults meet where something happens: the controllers of the stack's kinds, and the hub.
    let controller = if rng.chance(25) { Controller::Hub } else { Controller::of(&object.kind) };
    let spoke = Controller::of(&object.kind);
    let short = |rng: &mut Random| rng.time(Duration::from_millis(10), Duration::from_secs(30));
    let times = |rng: &mut Random| u32::try_from(rng.one([1_usize, 1, 1, 2, 5, 20])).unwrap_or(1);
    match class {
        StepClass::Kill => Fault::Kill { controller, down: short(rng) },
        StepClass::Replica => {
            Fault::Replica { controller, lasts: rng.time(Duration::from_secs(5), Duration::from_mins(2)) }
        }
        StepClass::Suspend => {
            Fault::Suspend { controller, lasts: rng.time(Duration::from_secs(1), Duration::from_mins(1)) }
        }
        StepClass::Lose => Fault::Lose {
            controller,
            call: any_call(rng, controller, &object),
            moment: rng.one([Moment::Before, Moment::After, Moment::After]),
            times: times(rng),
        },
        StepClass::Delay => {
            let by = rng.time(Duration::from_millis(100), Duration::from_secs(40));
            Fault::Delay { controller, call: any_call(rng, controller, &object), by, times: times(rng) }
        }
        StepClass::Refuse => Fault::Refuse {
            controller,
            call: kube_call(rng, controller, &object),
            status: rng.one([409, 409, 409, 410, 429, 500, 503]),
            times: times(rng),
        },
        StepClass::Fail => {
            let (action, code) = refusal(rng, &object.kind);
            let call = CallMatch { side: Side::Cloud, action: action.to_owned(), nth: nth(rng) };
            Fault::Fail { controller: spoke, call, code: code.to_owned(), times: times(rng) }
        }
        StepClass::Watches => match rng.below(4) {
            0 => Fault::CutWatches { controller },
            1 => Fault::Compact,
            _ => {
                let kind =
                    rng.one([object.kind.as_str(), "DependencyRequest", "StateDeclaration", "ConfigMap"]);
                let plural = kinds::served(kind).map(|served| served.plural.to_owned());
                Fault::DelayWatches {
                    controller,
                    plural: plural.filter(|_| rng.chance(70)),
                    by: rng.time(Duration::from_millis(50), Duration::from_secs(20)),
                    lasts: rng.time(Duration::from_secs(1), Duration::from_mins(1)),
                }
            }
        },
        StepClass::Outage if rng.chance(50) => {
            Fault::ApiOutage { controller: rng.chance(50).then_some(controller), lasts: short(rng) }
        }
        StepClass::Outage => {
            Fault::CloudOutage { controller: rng.chance(50).then_some(spoke), lasts: short(rng) }
        }
        StepClass::Throttle => {
            Fault::Throttle { burst: u32::try_from(rng.one([0_usize, 1, 3])).unwrap_or(1), lasts: short(rng) }
        }
        StepClass::Capacity if rng.chance(50) => {
            Fault::Capacity { instances: rng.one([0, 1, 2]), lasts: short(rng) }
        }
        StepClass::Capacity => Fault::PartialLaunches { most: rng.one([1, 1, 2]), lasts: short(rng) },
        StepClass::Hide if rng.chance(50) => Fault::Stale {
            remote: users.remote(rng, None),
            lasts: rng.time(Duration::from_millis(200), Duration::from_secs(8)),
        },
        StepClass::Contend => Fault::Contend {
            remote: users.remote(rng, None),
            tamper: contended(rng),
            lasts: rng.time(Duration::from_secs(1), Duration::from_mins(1)),
        },
        StepClass::Hide => Fault::Hide {
            remote: users.remote(rng, None),
            lasts: rng.time(Duration::from_millis(200), Duration::from_secs(8)),
        },
        _ => Fault::Crash {
            controller,
            call: any_call(rng, controller, &object),
            moment: rng.one([Moment::Before, Moment::After]),
            down: short(rng),
        },
    }
}

/// What another client changes back: a tag, or a property.
fn contended(rng: &mut Random) -> Tamper {
    if rng.chance(50) {
        return Tamper::Tag { key: "Team".to_owned(), value: Some("elsewhere".to_owned()) };
    }
    Tamper::Change { number: rng.below(60) }
}

fn nth(rng: &mut Random) -> u32 {
    u32::try_from(rng.one([1_usize, 1, 1, 1, 2, 2, 3, 5])).unwrap_or(1)
}

fn any_call(rng: &mut Random, controller: Controller, object: &ObjectName) -> CallMatch {
    if controller.is_spoke() && rng.chance(60) {
        let actions = writes(&object.kind);
        let action = match rng.below(10) {
            0 => "*",
            1..4 => "writes",
            _ => rng.pick(actions).copied().unwrap_or("writes"),
        };
        return CallMatch { side: Side::Cloud, action: action.to_owned(), nth: nth(rng) };
    }
    kube_call(rng, controller, object)
}

fn kube_call(rng: &mut Random, controller: Controller, object: &ObjectName) -> CallMatch {
    let plural = kinds::served(&object.kind).map_or("vpcs", |served| served.plural);
    let action = match (controller, rng.below(8)) {
        (_, 0) => "*".to_owned(),
        (_, 1 | 2) => "writes".to_owned(),
        (Controller::Hub, 3..6) => "PATCH dependencyrequests/status".to_owned(),
        (Controller::Hub, _) => rng
            .one([
                "PATCH configexports/status",
                "PATCH configmaps",
                "POST configmaps",
                "GET configmaps",
                "GET statedeclarations",
                "GET secrets",
            ])
            .to_owned(),
        (_, 3) => "PATCH dependencyrequests".to_owned(),
        (_, 4) => "PATCH statedeclarations".to_owned(),
        (_, 5) => format!("PATCH {plural}"),
        (_, _) => format!("PATCH {plural}/status"),
    };
    CallMatch { side: Side::Kube, action, nth: nth(rng) }
}

/// The mutating calls of a kind; the first one creates.
pub(crate) fn writes(kind: &str) -> &'static [&'static str] {
    match kind {
        "EC2Instance" => &[
            "RunInstances",
            "RunInstances",
            "TerminateInstances",
            "CreateTags",
            "StopInstances",
            "StartInstances",
            "ModifyInstanceAttribute",
        ],
        "VPC" => &["CreateVpc", "CreateVpc", "DeleteVpc", "ModifyVpcAttribute", "CreateTags"],
        "Subnet" => &["CreateSubnet", "CreateSubnet", "DeleteSubnet", "ModifySubnetAttribute", "CreateTags"],
        "InternetGateway" => &[
            "CreateInternetGateway",
            "CreateInternetGateway",
            "AttachInternetGateway",
            "DetachInternetGateway",
            "DeleteInternetGateway",
        ],
        "RouteTable" => &[
            "CreateRouteTable",
            "CreateRouteTable",
            "CreateRoute",
            "DeleteRoute",
            "AssociateRouteTable",
            "DisassociateRouteTable",
            "DeleteRouteTable",
        ],
        "SecurityGroup" => &[
            "CreateSecurityGroup",
            "CreateSecurityGroup",
            "AuthorizeSecurityGroupIngress",
            "RevokeSecurityGroupIngress",
            "DeleteSecurityGroup",
        ],
        "ElasticIP" => &[
            "AllocateAddress",
            "AllocateAddress",
            "AssociateAddress",
            "DisassociateAddress",
            "ReleaseAddress",
        ],
        "NATGateway" => &["CreateNatGateway", "CreateNatGateway", "DeleteNatGateway"],
        "KeyPair" => &["ImportKeyPair", "ImportKeyPair", "DeleteKeyPair"],
        "Volume" => {
            &["CreateVolume", "CreateVolume", "ModifyVolume", "AttachVolume", "DetachVolume", "DeleteVolume"]
        }
        "LoadBalancer" => &[
            "CreateLoadBalancer",
            "CreateLoadBalancer",
            "ModifyLoadBalancerAttributes",
            "AddTags",
            "DeleteLoadBalancer",
        ],
        "TargetGroup" => &[
            "CreateTargetGroup",
            "CreateTargetGroup",
            "RegisterTargets",
            "DeregisterTargets",
            "ModifyTargetGroup",
            "DeleteTargetGroup",
        ],
        "Listener" => &["CreateListener", "CreateListener", "ModifyListener", "DeleteListener"],
        "ListenerRule" => &["CreateRule", "CreateRule", "ModifyRule", "SetRulePriorities", "DeleteRule"],
        _ => &["writes"],
    }
}

/// An action of the kind, and a documented error code that means that it had no effect.
fn refusal(rng: &mut Random, kind: &str) -> (&'static str, &'static str) {
    let action = rng.pick(writes(kind)).copied().unwrap_or("*");
    let action = if rng.chance(25) { "*" } else { action };
    let is_elb = matches!(kind, "LoadBalancer" | "TargetGroup" | "Listener" | "ListenerRule");
    if is_elb {
        return (action, rng.one(["Throttling", "ServiceUnavailable", "InternalFailure", "Throttling"]));
    }
    let specific: &[&str] = match action {
        "RunInstances" => {
            &["InsufficientInstanceCapacity", "InstanceLimitExceeded", "InsufficientFreeAddressesInSubnet"]
        }
        "CreateVpc" => &["VpcLimitExceeded"],
        "CreateSubnet" => &["SubnetLimitExceeded"],
        "CreateInternetGateway" => &["InternetGatewayLimitExceeded"],
        "CreateRouteTable" => &["RouteTableLimitExceeded"],
        "CreateSecurityGroup" => &["SecurityGroupLimitExceeded"],
        "AllocateAddress" => &["AddressLimitExceeded"],
        "CreateNatGateway" => &["NatGatewayLimitExceeded"],
        "CreateVolume" => &["VolumeLimitExceeded"],
        "DeleteVpc"
        | "DeleteSubnet"
        | "DeleteSecurityGroup"
        | "DeleteInternetGateway"
        | "DeleteRouteTable" => &["DependencyViolation"],
        "DeleteVolume" => &["VolumeInUse"],
        "CreateTags" if kind == "EC2Instance" => &["InvalidInstanceID.NotFound"],
        _ => &[],
    };
    let common = rng.one(["RequestLimitExceeded", "InternalError", "Unavailable", "ServiceUnavailable"]);
    let code = if rng.chance(50) { rng.pick(specific).copied().unwrap_or(common) } else { common };
    (action, code)
}
