//! Attempts with the internal objects: the states of resources, and their requests for values.

use serde_json::{Value, json};

use super::{
    Attempt,
    Expected::{Harmless, Refused},
    Other, object, with,
};

const CORE: &str = "core.kraken-iac.eoinfennessy.com/v1alpha1";

pub(super) fn attempts(victim: &Other) -> Vec<Attempt> {
    let Other { namespace: other, id, owner } = victim;
    let state = |name: &str| {
        object(CORE, "StateDeclaration", name, &json!({"data": {"vpc": {"VpcId": id}}, "id": id}))
    };
    let secret = json!({"secretDependencies": [{"name": "db", "key": "password"}]});
    let config_map = json!({"configMapDependencies": [{"name": "settings", "key": "cidr"}]});
    vec![
        ("a state of a resource that has none", state("vpc.aws.main"), Refused),
        ("a state owned by the other's VPC", with(state("vpc.aws.main"), "ownerReferences", owner), Refused),
        ("a state in the other namespace", with(state("static-x"), "namespace", &json!(other)), Refused),
        ("a request for a Secret", request(&secret), Refused),
        ("a request owned by the other's VPC", with(request(&config_map), "ownerReferences", owner), Refused),
        (
            "a static state owned by the other's VPC",
            with(state("static-owned"), "ownerReferences", owner),
            Harmless,
        ),
        (
            "a static state labelled as a controller's",
            with(
                state("static-labelled"),
                "labels",
                &json!({"kraken-iac.eoinfennessy.com/owner-kind": "vpc.aws"}),
            ),
            Harmless,
        ),
        ("a request in the other namespace", with(request(&secret), "namespace", &json!(other)), Refused),
    ]
}

/// The request for values of the VPC `main`.
fn request(spec: &Value) -> Value {
    object(CORE, "DependencyRequest", "vpc.aws.main", spec)
}
