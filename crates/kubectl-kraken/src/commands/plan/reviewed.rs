//! A plan that was reviewed elsewhere, as a file of `plan -o json`: what differs from it now. Pure.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use serde_json::Value;

/// What differs between the reviewed plan and the present one, a line for each object; none if they are the same.
pub(super) fn differences(reviewed: &str, now: &Value) -> Result<Vec<String>> {
    let reviewed: Value = serde_json::from_str(reviewed).context("no JSON")?;
    let (reviewed, now) = (entries(&reviewed)?, entries(now)?);
    let objects: BTreeSet<_> = reviewed.keys().chain(now.keys()).collect();
    let line = |object: &String| match (reviewed.get(object), now.get(object)) {
        (Some(before), Some(after)) if before == after => None,
        (Some(before), Some(after)) if before.said == after.said => Some(format!(
            "{object}: its document, or the object that it edits, is not the one that was reviewed"
        )),
        (Some(before), Some(after)) => {
            Some(format!("{object}: reviewed was: {}; now: {}", before.said, after.said))
        }
        (Some(before), None) => {
            Some(format!("{object}: reviewed was: {}; now nothing happens to it", before.said))
        }
        (None, Some(after)) => Some(format!("{object}: was not reviewed: {}", after.said)),
        (None, None) => None,
    };
    Ok(objects.into_iter().filter_map(line).collect())
}

/// What a plan says about an object.
#[derive(Debug, PartialEq, Eq)]
struct Said {
    /// For a person: the action, its effects and causes.
    said: String,
    /// Which edit it is, also if its values are not shown.
    edit: Value,
}

/// By the object, without those to which nothing happens.
fn entries(plan: &Value) -> Result<BTreeMap<String, Said>> {
    let listed = plan["entries"].as_array().context("no plan: it has no entries")?;
    let happens = listed.iter().filter(|entry| entry["action"] != "None");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = happens.map(|entry| {
        let lines =
            ["effects", "because"].into_iter().flat_map(|key| entry[key].as_array().into_iter().flatten());
        let lines: Vec<_> = lines.map(text).collect();
        let action = text(&entry["action"]);
        let said = if lines.is_empty() { action } else { format!("{action}: {}", lines.join("; ")) };
        let object =
            format!("{}/{} in {}", text(&entry["kind"]), text(&entry["name"]), text(&entry["namespace"]));
        (object, Said { said, edit: entry["edit"].clone() })
    });
    Ok(all.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn entry(name: &str, action: &str, effect: &str, edit: &str) -> Value {
        json!({"namespace": "shop", "group": "g", "kind": "VPC", "name": name, "action": action, "effects": [effect],
            "because": [], "edit": edit})
    }

    fn lines(before: Value, after: Value) -> Vec<String> {
        differences(&json!({"entries": before}).to_string(), &json!({"entries": after})).unwrap()
    }

    #[test]
    fn the_same_plan_has_no_differences() {
        let unchanged = entry("b", "None", "", "");
        let plan = json!([entry("a", "Change", "changes vpc-1", "1"), unchanged]);
        assert_eq!(lines(plan.clone(), plan), [""; 0]);
        assert_eq!(lines(json!([]), json!([entry("b", "None", "", "")])), [""; 0]);
    }

    #[test]
    fn each_object_that_differs_is_named_with_both() {
        let before = json!([entry("a", "Change", "changes vpc-1", "1"), entry("b", "Create", "", "2")]);
        let after =
            json!([entry("a", "Replace", "replaces vpc-1", "1"), entry("c", "Delete", "deletes vpc-3", "")]);
        assert_eq!(
            lines(before, after),
            [
                "VPC/a in shop: reviewed was: Change: changes vpc-1; now: Replace: replaces vpc-1",
                "VPC/b in shop: reviewed was: Create: ; now nothing happens to it",
                "VPC/c in shop: was not reviewed: Delete: deletes vpc-3",
            ]
        );
    }

    #[test]
    fn another_value_that_is_not_shown_is_a_difference() {
        let plan =
            |edit: &str| json!([entry("a", "Change", "changes vpc-1 in place: userData (not shown)", edit)]);
        assert!(lines(plan("1"), plan("2"))[0].contains("is not the one that was reviewed"));
    }

    #[test]
    fn a_file_that_is_no_plan_is_an_error() {
        assert!(differences("kind: VPC", &json!({"entries": []})).is_err());
        assert!(differences("{}", &json!({"entries": []})).unwrap_err().to_string().contains("no plan"));
    }
}
