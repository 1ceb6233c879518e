//! Attempts with the name, the metadata, the lifecycle and the account of a resource.

use serde_json::json;

use super::{
    Attempt,
    Expected::{Harmless, Refused, Stuck},
    Other, from, literal, object, secret, vpc, with,
};
use crate::tenancy::AWS;

pub(super) fn attempts(victim: &Other) -> Vec<Attempt> {
    let Other { namespace: other, id, owner } = victim;
    let (literal, none) = (literal(), json!({}));
    let credentials = {
        let theirs = from(&secret(&format!("../{other}/secrets/db")));
        json!({"accessKeyID": theirs, "secretAccessKey": theirs})
    };
    let using = |name: &str, account: &str| {
        object(AWS, "VPC", name, &json!({"cidrBlock": literal, "account": {"name": account}}))
    };
    let ledger = json!({
        "epoch": 1, "at": "2026-01-01T00:00:00Z", "hash": "x", "replacedBefore": 1, "outgoing": [id], "adopted": [id],
    });
    vec![
        (
            "a VPC in the other namespace",
            with(vpc("x", &literal, &none), "namespace", &json!(other)),
            Refused,
        ),
        ("adoption by the other's id", vpc("adopt-id", &literal, &json!({"adopt": {"id": id}})), Stuck),
        (
            "adoption by the other's tags",
            vpc(
                "adopt-tags",
                &literal,
                &json!({"adopt": {"tags": {"kraken-iac.eoinfennessy.com/owner": format!("VPC/{other}/main")}}}),
            ),
            Stuck,
        ),
        (
            "a ledger of an earlier version that claims the other's VPC",
            with(
                vpc("ledger", &literal, &json!({"replace": "DeleteFirst"})),
                "annotations",
                &json!({"kraken-iac.eoinfennessy.com/intent": ledger.to_string()}),
            ),
            Harmless,
        ),
        (
            "a VPC owned by the other's VPC",
            with(vpc("owned", &literal, &none), "ownerReferences", owner),
            Harmless,
        ),
        ("a name that ends like another's state", vpc("aws.main", &literal, &none), Harmless),
        (
            "an Account in the other namespace",
            with(object(AWS, "Account", "default", &json!({})), "namespace", &json!(other)),
            Refused,
        ),
        (
            "an Account with the other's Secret",
            object(AWS, "Account", "thief", &json!({"credentials": credentials})),
            Refused,
        ),
        ("the other's Account by its name", using("account-name", "shop"), Stuck),
        (
            "the other's Account by a path",
            using("account-path", &format!("../{other}/accounts/shop")),
            Refused,
        ),
    ]
}
