//! The permissions of users: ClusterRoles that Kubernetes aggregates to `view`, `edit` and `admin`, so that users with
//! `edit` in a namespace can edit Kraken's resources in it, and users with `admin` can approve plans.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail};
use kraken_testing::manifests::Document;

use super::MARK;

/// The category of all kinds that users see, for `kubectl get kraken`; they write those that are not also [`OF_ADMINS`].
const OF_USERS: &str = "kraken";
/// The category of kinds that controllers write: users can only read them.
pub(super) const INTERNAL: &str = "kraken-internal";

/// The internal kind of which users write those objects that are named `static-<name>`.
pub(super) const STATES: &str = "statedeclarations";

/// The category of kinds that administrators write: what they allow cannot be widened by those who use it.
const OF_ADMINS: &str = "kraken-admin";

/// The category of questions to controllers, which users ask and delete, and nobody edits. What they answer is about objects that
/// their author may adopt, so that `view` does not include them.
const QUESTIONS: &str = "kraken-import";

/// The category of kinds that share a namespace with others, as its role bindings do: its administrators write them, and nobody who
/// may only edit resources.
const GRANTS: &str = "kraken-grant";

const READ: [&str; 3] = ["get", "list", "watch"];
/// The verb for approving plans, which the policy `approve` requires.
const APPROVE: [&str; 1] = ["approve"];
const WRITE: [&str; 5] = ["create", "update", "patch", "delete", "deletecollection"];
/// The verbs of `kubectl scale` and of autoscalers.
const SCALE: [&str; 3] = ["get", "update", "patch"];
/// The verbs for questions.
const ASK: [&str; 5] = ["get", "list", "watch", "create", "delete"];
/// The verbs for an internal kind whose static objects users write; the policies `records` and `states` reject others.
const WRITE_STATIC: [&str; 4] = ["create", "update", "patch", "delete"];

/// Plural names by API group.
type Kinds = BTreeMap<String, Vec<String>>;

/// The roles for the kinds of these CRDs.
///
/// Those of the groups `made` are made at run time, and users write all of them.
///
/// # Errors
/// If a CRD is in neither category: users could not read its objects.
pub(super) fn roles(crds: &[Document], made: &BTreeSet<String>) -> Result<String> {
    let (mut of_users, mut of_admins) = (Kinds::new(), Kinds::new());
    let (mut planned, mut all) = (Kinds::new(), Kinds::new());
    let (mut scaled, mut of_states, mut questions) = (Kinds::new(), Kinds::new(), Kinds::new());
    let mut grants = Kinds::new();
    for crd in crds {
        let spec = &crd.value["spec"];
        let text = |pointer: &str| {
            spec.pointer(pointer)
                .and_then(|value| value.as_str())
                .map(str::to_owned)
                .context("a CRD without names")
        };
        let (group, plural) = (text("/group")?, text("/names/plural")?);
        let categories = spec["names"]["categories"].as_array().cloned().unwrap_or_default();
        let is_in = |category: &str| categories.iter().any(|of| of == category);
        if spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["lifecycle"]
            .is_object()
        {
            planned.entry(group.clone()).or_default().push(plural.clone());
        }
        if spec["versions"][0]["subresources"]["scale"].is_object() {
            scaled.entry(group.clone()).or_default().push(format!("{plural}/scale"));
        }
        if is_in(QUESTIONS) {
            questions.entry(group).or_default().push(plural);
            continue;
        }
        if plural == STATES {
            of_states.entry(group.clone()).or_default().push(plural.clone());
        }
        if is_in(OF_ADMINS) {
            of_admins.entry(group.clone()).or_default().push(plural.clone());
        } else if is_in(GRANTS) {
            grants.entry(group.clone()).or_default().push(plural.clone());
        } else if is_in(OF_USERS) {
            of_users.entry(group.clone()).or_default().push(plural.clone());
        } else if !is_in(INTERNAL) {
            bail!(
                "{} is in none of the categories {OF_USERS}, {OF_ADMINS}, {GRANTS} and {INTERNAL}",
                crd.name
            );
        }
        all.entry(group).or_default().push(plural);
    }
    for group in made {
        for kinds in [&mut of_users, &mut planned, &mut all] {
            kinds.entry(group.clone()).or_default().push("*".to_owned());
        }
    }
    let view = role("kraken-view", &["admin", "edit", "view"], &[(&all, &READ)]);
    let edits: [(&Kinds, &[&str]); 4] =
        [(&of_users, &WRITE), (&scaled, &SCALE), (&of_states, &WRITE_STATIC), (&questions, &ASK)];
    let edit = role("kraken-edit", &["admin", "edit"], &edits);
    let approve = role("kraken-approve", &["admin"], &[(&planned, &APPROVE)]);
    let share = role("kraken-grant", &["admin"], &[(&grants, &WRITE)]);
    // Not aggregated, so an administrator binds it: these kinds restrict the editors and administrators of namespaces.
    let admin = role("kraken-admin", &[], &[(&of_admins, &[READ.as_slice(), &WRITE].concat())]);
    Ok(format!("{MARK}\n{view}---\n{edit}---\n{approve}---\n{share}---\n{admin}"))
}

/// A ClusterRole that Kubernetes aggregates to these roles.
fn role(name: &str, to: &[&str], rules: &[(&Kinds, &[&str])]) -> String {
    let mut text = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRole\nmetadata:\n  labels:\n    \
                    app.kubernetes.io/part-of: kraken\n"
        .to_owned();
    // Writing to a String cannot fail.
    for to in to {
        let _ = writeln!(text, "    rbac.authorization.k8s.io/aggregate-to-{to}: \"true\"");
    }
    let _ = writeln!(text, "  name: {name}\nrules:");
    for (group, plurals, verbs) in rules
        .iter()
        .flat_map(|(kinds, verbs)| kinds.iter().map(move |(group, plurals)| (group, plurals, verbs)))
    {
        let _ = writeln!(text, "- apiGroups:\n  - {group}\n  resources:");
        let mut plurals = plurals.clone();
        plurals.sort();
        for plural in plurals {
            // An asterisk alone is an alias in YAML.
            let quote = if plural == "*" { "\"" } else { "" };
            let _ = writeln!(text, "  - {quote}{plural}{quote}");
        }
        let _ = writeln!(text, "  verbs:");
        for verb in *verbs {
            let _ = writeln!(text, "  - {verb}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use kraken_testing::manifests;

    use super::*;

    fn crds(categories: &[(&str, &str)]) -> Vec<Document> {
        let texts: Vec<String> = categories.iter().map(|(plural, category)| crd(plural, category)).collect();
        manifests::parse("the CRDs", &texts.join("---\n")).unwrap()
    }

    fn crd(plural: &str, category: &str) -> String {
        let scale = if plural == "vpcs" { "subresources: {scale: {}}, " } else { "" };
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {{name: {plural}.a.b}}\n\
             spec:\n  group: a.b\n  names: {{plural: {plural}, categories: [{category}]}}\n  versions: [{{{scale}schema: {{openAPIV3Schema: \
             {{properties: {{spec: {{properties: {{lifecycle: {{}}}}}}}}}}}}}}]\n"
        )
    }

    #[test]
    fn users_edit_their_kinds_and_read_all() {
        let crds = crds(&[
            ("vpcs", "kraken"),
            ("statedeclarations", "kraken-internal"),
            ("referencegrants", "kraken-grant"),
            ("accounts", "kraken, kraken-admin"),
        ]);
        let text = roles(&crds, &BTreeSet::new()).unwrap();
        let documents = manifests::parse("the roles", &text).unwrap();
        let [view, edit, approve, share, admin] = documents.as_slice() else { panic!("{text}") };
        let all = serde_json::json!(["accounts", "referencegrants", "statedeclarations", "vpcs"]);
        assert_eq!(view.value["rules"][0]["resources"], all);
        assert_eq!(admin.value["rules"][0]["resources"], serde_json::json!(["accounts"]));
        let labels = admin.value["metadata"]["labels"].as_object().unwrap();
        assert!(labels.keys().all(|label| !label.contains("aggregate-to")), "{labels:?}");
        assert_eq!(view.value["rules"][0]["verbs"], serde_json::json!(READ));
        assert_eq!(edit.value["rules"][0]["resources"], serde_json::json!(["vpcs"]));
        assert_eq!(edit.value["rules"][1]["resources"], serde_json::json!(["vpcs/scale"]));
        assert_eq!(edit.value["rules"][1]["verbs"], serde_json::json!(SCALE));
        assert_eq!(edit.value["rules"][2]["resources"], serde_json::json!(["statedeclarations"]));
        assert_eq!(edit.value["rules"][2]["verbs"], serde_json::json!(WRITE_STATIC));
        assert_eq!(approve.value["rules"][0]["verbs"], serde_json::json!(["approve"]));
        assert_eq!(share.value["rules"][0]["resources"], serde_json::json!(["referencegrants"]));
        let aggregated = share.value["metadata"]["labels"].to_string();
        assert!(aggregated.contains("aggregate-to-admin") && !aggregated.contains("aggregate-to-edit"));
        assert!(
            approve.value["metadata"]["labels"].get("rbac.authorization.k8s.io/aggregate-to-edit").is_none()
        );
        let label = |to: &str| {
            edit.value["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{to}")] == "true"
        };
        assert!(label("edit") && label("admin") && !label("view"));
    }

    #[test]
    fn users_edit_and_approve_all_kinds_that_are_made_at_run_time() {
        let text = roles(&crds(&[]), &BTreeSet::from(["made.a.b".to_owned()])).unwrap();
        let documents = manifests::parse("the roles", &text).unwrap();
        for (role, verbs) in
            [("kraken-view", &READ[..]), ("kraken-edit", &WRITE), ("kraken-approve", &APPROVE)]
        {
            let rule = serde_json::json!({"apiGroups": ["made.a.b"], "resources": ["*"], "verbs": verbs});
            let role = documents.iter().find(|document| document.name == role).unwrap();
            assert_eq!(role.value["rules"], serde_json::json!([rule]));
        }
        let others =
            documents.iter().filter(|document| ["kraken-admin", "kraken-grant"].contains(&&*document.name));
        assert!(others.count() == 2 && text.matches("made.a.b").count() == 3, "{text}");
    }

    #[test]
    fn editors_ask_what_exists_and_viewers_do_not_read_the_answers() {
        let text = roles(&crds(&[("vpcs", "kraken"), ("importrequests", "kraken-import")]), &BTreeSet::new())
            .unwrap();
        let documents = manifests::parse("the roles", &text).unwrap();
        let [view, edit, ..] = documents.as_slice() else { panic!("{text}") };
        assert!(!view.value.to_string().contains("importrequests"));
        assert_eq!(edit.value["rules"][2]["resources"], serde_json::json!(["importrequests"]));
        assert_eq!(edit.value["rules"][2]["verbs"], serde_json::json!(ASK));
    }

    #[test]
    fn a_kind_without_a_category_is_an_error() {
        assert!(
            roles(&crds(&[("objects", "other")]), &BTreeSet::new())
                .unwrap_err()
                .to_string()
                .contains("objects.a.b")
        );
    }
}
