//! Openings with changes by others in the cloud: once, or by a client that insists on them.

use serde_json::{Value, json};

use super::{Opening, added, adoptable_spec, edit, millis, seconds};
use crate::generate::users::Users;
use crate::random::Random;
use crate::schedule::{Fault, Operation, Remote, Tamper};

/// The number of the change in the cloud of a security group that removes an ingress rule, and of one that adds one.
const REVOKES: usize = 2;
const AUTHORIZES: usize = 0;

/// Another client reverts one field after each change, for a while. Meanwhile another field of the resource is edited, which must
/// not wait for the first one.
pub(super) fn contended_field(rng: &mut Random, users: &mut Users) -> Opening {
    let tag = Tamper::Tag { key: "Team".to_owned(), value: Some("elsewhere".to_owned()) };
    let (kind, path, value, tamper) = match rng.below(4) {
        0 => ("VPC", "/spec/enableDNSHostnames", json!({"value": true}), Tamper::Change { number: 2 }),
        1 => ("EC2Instance", "/spec/monitoring", json!({"value": true}), Tamper::Change { number: 5 }),
        2 => ("Volume", "/spec/tags/Team", json!("web"), tag),
        _ => ("VPC", "/spec/tags/Team", json!("web"), tag),
    };
    let (object, apply) = added(users, kind, "contended", &adoptable_spec(rng, kind));
    let lasts = seconds(rng, 10, 120);
    let contend = Fault::Contend { remote: Remote::Of(object.clone(), 0), tamper, lasts };
    let mut steps: Opening = vec![
        (millis(rng, 500), apply),
        (seconds(rng, 15, 60), contend.into()),
        (millis(rng, 500), edit(&object, path, value)),
        (seconds(rng, 1, 40), edit(&object, "/spec/tags/Cost", json!("1"))),
    ];
    if rng.chance(30) {
        steps.push((seconds(rng, 1, 40), edit(&object, "/spec/lifecycle/drift", json!("Report"))));
    }
    steps
}

/// A rule of a security group is revoked or added by somebody, sometimes just before or after an edit of the rules.
pub(super) fn revoked_rule(rng: &mut Random, users: &mut Users) -> Opening {
    let (_, apply_vpc) = added(users, "VPC", "guarded", &adoptable_spec(rng, "VPC"));
    let rule = |port: u16| -> Value {
        json!({
            "protocol": {"value": "tcp"}, "fromPort": {"value": port}, "cidrBlocks": {"value": ["10.0.0.0/8"]},
        })
    };
    let spec = json!({
        "vpcID": {"valueFrom": {"ref": "VPC/guarded"}}, "ingress": [rule(22), rule(443)],
        "lifecycle": {"drift": rng.one(["Revert", "Revert", "Report"])},
    });
    let (group, apply) = added(users, "SecurityGroup", "guard", &spec);
    let remote = Remote::Of(group.clone(), 0);
    let outside =
        |number: usize| Operation::TamperRemote { remote: remote.clone(), tamper: Tamper::Change { number } };
    let ports: &[u16] = rng.one([&[22_u16][..], &[443], &[22, 443, 80]]);
    let rules: Value = ports.iter().map(|port| rule(*port)).collect();
    let mut changes = vec![outside(rng.one([REVOKES, REVOKES, AUTHORIZES])).into()];
    match rng.below(3) {
        0 => changes.push(edit(&group, "/spec/ingress", rules)),
        1 => changes.insert(0, edit(&group, "/spec/ingress", rules)),
        _ => changes.push(outside(REVOKES).into()),
    }
    let mut steps: Opening = vec![(millis(rng, 500), apply_vpc), (millis(rng, 500), apply)];
    let mut pause = seconds(rng, 15, 60);
    for change in changes {
        steps.push((pause, change));
        pause = if rng.chance(60) { millis(rng, 1000) } else { seconds(rng, 1, 30) };
    }
    if rng.chance(30) {
        let tamper = Tamper::Change { number: REVOKES };
        steps.push((millis(rng, 500), Fault::Contend { remote, tamper, lasts: seconds(rng, 5, 60) }.into()));
    }
    steps
}
