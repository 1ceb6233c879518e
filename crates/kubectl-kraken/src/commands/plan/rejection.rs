//! Why kube-apiserver rejected a document. Pure.

use anyhow::Result;
use kube::core::Status;
use serde_json::Value;

use super::super::lint::unquoted::of_object;

/// One line for each value that is only to be quoted, as `lint` says it, and what the server says about the rest.
pub(super) fn why(status: &Status, document: Option<&Value>) -> Result<Vec<String>> {
    let unquoted = document.map(of_object).transpose()?.unwrap_or_default();
    if unquoted.is_empty() || status.code != 422 {
        return Ok(vec![status.message.clone()]);
    }
    let mut lines: Vec<_> =
        unquoted.iter().map(|one| format!("{}: {}", one.field, one.message(None))).collect();
    let causes = status.details.iter().flat_map(|details| &details.causes);
    // "<nil>" is about a branch of a schema, and says nothing that the other causes do not say.
    let others =
        causes.filter(|cause| cause.field != "<nil>" && unquoted.iter().all(|one| one.field != cause.field));
    lines.extend(others.map(|cause| format!("{}: {}", cause.field, cause.message)));
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_value_without_quotes_is_named_in_place_of_the_branches_of_its_schema() {
        let document = json!({"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "metadata": {"name": "a"},
            "spec": {"cidrBlock": {"value": "x"}, "tags": {"Cost": 42, "Team": false}}});
        let cause = |field: &str, message: &str| json!({"field": field, "message": message, "reason": "FieldValueInvalid"});
        let status: Status = serde_json::from_value(json!({"status": "Failure", "code": 422, "reason": "Invalid", "message": "VPC a is invalid", "details": {"causes": [
            cause("<nil>", "Invalid value: \"\": \"spec.tags.Cost\" must validate at least one schema (anyOf)"),
            cause("spec.tags.Cost", "Invalid value: 42: spec.tags.Cost in body should be less than or equal to 0"),
            cause("spec.cidrBlock.value", "Invalid value: \"x\": is no CIDR"),
        ]}})).unwrap();
        assert_eq!(
            why(&status, Some(&document)).unwrap(),
            [
                "spec.tags.Cost: 42 is a number, and a string is expected: quote it (\"42\")",
                "spec.tags.Team: false is a boolean, and a string is expected: quote it",
                "spec.cidrBlock.value: Invalid value: \"x\": is no CIDR",
            ]
        );
        let quoted = json!({"apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "VPC", "spec": {"tags": {"Cost": "42"}}});
        assert_eq!(why(&status, Some(&quoted)).unwrap(), ["VPC a is invalid"]);
        assert_eq!(why(&status, None).unwrap(), ["VPC a is invalid"]);
    }
}
