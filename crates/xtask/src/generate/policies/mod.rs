//! ValidatingAdmissionPolicies: rules that the API server enforces, even if webhooks and controllers are unavailable.
//!
//! They are generated from the CRDs, which show the kinds, their lifecycles, and the fields that can refer to a Secret.

mod maker;
mod secrets;

use std::collections::BTreeSet;

use anyhow::{Context as _, Result};
use kraken_api::APPROVED_PLAN_ANNOTATION;
use serde_json::{Value, json};

/// The condition for a controller: a service account in the controllers' namespace, or the cluster-wide verb `publish`, which
/// each controller's ClusterRole grants. Charts replace the namespace.
const BY_CONTROLLER: &str = "request.userInfo.username.startsWith('system:serviceaccount:kraken-system:kraken-') || \
    authorizer.group('core.kraken-iac.eoinfennessy.com').resource('statedeclarations').check('publish').allowed()";
/// The garbage collector and the namespace controller, which change metadata alone.
const BY_KUBERNETES: &str = "oldObject != null && object.spec == oldObject.spec && \
    (request.userInfo.username == 'system:kube-controller-manager' || \
    request.userInfo.username.startsWith('system:serviceaccount:kube-system:'))";
/// Static states, which users write.
const IS_STATIC: &str =
    "request.resource.resource == 'statedeclarations' && object.metadata.name.startsWith('static-')";

/// All kinds of a group.
const ALL: &str = "*";

/// A kind, as its CRD describes it.
struct Kind {
    group: String,
    plural: String,
    is_internal: bool,
    has_status: bool,
    spec: Value,
}

impl Kind {
    fn of(crd: &Value) -> Result<Self> {
        let text = |pointer: &str| {
            crd.pointer(pointer).and_then(Value::as_str).map(str::to_owned).context("a CRD without names")
        };
        let categories = crd["spec"]["names"]["categories"].as_array();
        let version = &crd["spec"]["versions"][0];
        Ok(Self {
            group: text("/spec/group")?,
            plural: text("/spec/names/plural")?,
            is_internal: categories.into_iter().flatten().any(|category| category == super::users::INTERNAL),
            has_status: version["subresources"]["status"].is_object(),
            spec: version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone(),
        })
    }

    /// Whether its controller restarts workloads that its author names.
    fn restarts(&self) -> bool {
        self.spec["properties"]["restart"].is_object()
    }

    /// All kinds of a group that are made at run time.
    fn of_group(group: &str) -> Self {
        Self {
            group: group.to_owned(),
            plural: ALL.to_owned(),
            is_internal: false,
            has_status: true,
            spec: json!({"properties": {"lifecycle": {}}}),
        }
    }

    fn has_lifecycle(&self) -> bool {
        self.spec["properties"]["lifecycle"].is_object()
    }

    /// Requests about objects of this kind, or about a subresource of it.
    fn rule(&self, operations: &[&str], subresource: &str) -> Value {
        let resource = format!("{}{subresource}", self.plural);
        json!({
            "apiGroups": [self.group], "apiVersions": ["*"], "operations": operations, "resources": [resource],
        })
    }
}

/// The content of a policy, without its name.
struct Policy {
    rules: Vec<Value>,
    conditions: Vec<Value>,
    variables: Vec<Value>,
    validations: Vec<Value>,
}

/// The policies of a component with these CRDs, and with kinds of the groups `made`, which it makes at run time, as YAML documents.
///
/// # Errors
/// When a CRD has no names.
pub(super) fn policies(component: &str, crds: &[Value], made: &BTreeSet<String>) -> Result<String> {
    let mut kinds = crds.iter().map(Kind::of).collect::<Result<Vec<_>>>()?;
    kinds.extend(made.iter().map(|group| Kind::of_group(group)));
    let rules = |operations: &[&str], subresource: &str, wanted: &dyn Fn(&Kind) -> bool| {
        let chosen = kinds.iter().filter(|kind| wanted(kind));
        chosen.map(|kind| kind.rule(operations, subresource)).collect::<Vec<_>>()
    };
    let mut policies = vec![
        ("installation".to_owned(), installation(component)),
        ("records".to_owned(), records(rules(&["CREATE", "UPDATE"], "", &|kind| kind.is_internal))),
        ("states".to_owned(), states(rules(&["DELETE"], "", &|kind| kind.plural == super::users::STATES))),
        ("status".to_owned(), status(rules(&["UPDATE"], "/status", &|kind| kind.has_status))),
        ("protect".to_owned(), protect(rules(&["DELETE"], "", &Kind::has_lifecycle))),
        ("approve".to_owned(), approve(rules(&["CREATE", "UPDATE"], "", &Kind::has_lifecycle))),
        ("restart".to_owned(), restart(rules(&["CREATE", "UPDATE"], "", &Kind::restarts))),
    ];
    for kind in kinds.iter().filter(|kind| !kind.is_internal) {
        if kind.plural == ALL {
            policies.push(("secrets-of-kinds".to_owned(), secrets::policy_of_any(kind)));
            continue;
        }
        let policy = secrets::policy(kind);
        policies.extend(policy.map(|policy| (format!("secrets-{}", kind.plural), policy)));
    }
    policies.extend(made.iter().flat_map(|group| maker::policies(component, group)));
    policies.retain(|(_, policy)| !policy.rules.is_empty());
    let mut text = String::new();
    for (name, policy) in policies {
        for document in documents(&format!("kraken-{component}"), &name, &policy) {
            text += "---\n";
            text += &serde_saphyr::to_string(&document).context("failed to write a policy as YAML")?;
        }
    }
    Ok(text)
}

/// A policy and the binding that puts it in force for every namespace.
fn documents(component: &str, name: &str, policy: &Policy) -> [Value; 2] {
    let name = format!("{component}-{name}");
    let metadata = json!({
        "labels": {"app.kubernetes.io/name": component, "app.kubernetes.io/part-of": "kraken"},
        "name": name,
    });
    let mut spec = json!({
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": policy.rules},
        "validations": policy.validations,
    });
    for (field, values) in [("matchConditions", &policy.conditions), ("variables", &policy.variables)] {
        if !values.is_empty() {
            spec[field] = json!(values);
        }
    }
    let document = |kind: &str, spec: &Value| {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": metadata, "spec": spec,
        })
    };
    let binding = json!({"policyName": name, "validationActions": ["Deny"]});
    [document("ValidatingAdmissionPolicy", &spec), document("ValidatingAdmissionPolicyBinding", &binding)]
}

/// Rejects a second installation in another namespace: it would take the permissions and the webhooks of the first, which would stop.
/// Helm rejects it without this policy, because the objects belong to another release.
fn installation(component: &str) -> Policy {
    let name = format!("kraken-{component}");
    let mut bindings = vec![name.clone()];
    if component != super::HUB {
        bindings.push(format!("{name}-hub")); // the hub's permissions for the kinds of a spoke
    }
    let rule = |group: &str, resource: &str, names: &[String]| {
        json!({
            "apiGroups": [group], "apiVersions": ["*"], "operations": ["UPDATE"], "resources": [resource], "resourceNames": names,
        })
    };
    let namespaces = |variable: &str, object: &str| {
        let subjects = format!("{object}.?subjects.orValue([]).map(subject, subject.?namespace.orValue(''))");
        // A webhook that is called by its URL has no namespace.
        let webhooks = format!(
            "{object}.?webhooks.orValue([]).map(webhook, webhook.?clientConfig.?service.?namespace.orValue(''))"
        );
        let expression = format!("({subjects} + {webhooks}).filter(name, name != '')");
        json!({"name": variable, "expression": expression})
    };
    let message = format!(
        "'{name} is already installed in namespace ' + string(variables.current[0]) + '; remove that installation first, or install \
         Kraken for selected namespaces only (config/overlays/namespaced)'"
    );
    let expression = "variables.current.size() == 0 || variables.next.all(name, name in variables.current)";
    let mut validation = forbidden(expression, &format!("{name} is already installed in another namespace"));
    validation["messageExpression"] = json!(message);
    Policy {
        rules: vec![
            rule("rbac.authorization.k8s.io", "clusterrolebindings", &bindings),
            rule(
                "admissionregistration.k8s.io",
                "validatingwebhookconfigurations",
                std::slice::from_ref(&name),
            ),
        ],
        conditions: vec![],
        variables: vec![namespaces("current", "oldObject"), namespaces("next", "object")],
        validations: vec![validation],
    }
}

fn forbidden(expression: &str, message: &str) -> Value {
    json!({"expression": expression, "message": message, "reason": "Forbidden"})
}

fn records(rules: Vec<Value>) -> Policy {
    let message = "only Kraken's controllers write DependencyRequests and StateDeclarations; users can write \
                   StateDeclarations named static-<name>";
    let expression = format!("({BY_CONTROLLER}) || ({IS_STATIC}) || ({BY_KUBERNETES})");
    Policy {
        rules,
        conditions: vec![],
        variables: vec![],
        validations: vec![forbidden(&expression, message)],
    }
}

/// Users delete only the states that they write.
fn states(rules: Vec<Value>) -> Policy {
    const BY_KUBERNETES: &str = "request.userInfo.username == 'system:kube-controller-manager' || \
        request.userInfo.username.startsWith('system:serviceaccount:kube-system:')";
    let message =
        "only Kraken's controllers delete StateDeclarations; users can delete those named static-<name>";
    let is_static = "oldObject.metadata.name.startsWith('static-')";
    let expression = format!("({BY_CONTROLLER}) || {is_static} || ({BY_KUBERNETES})");
    Policy {
        rules,
        conditions: vec![],
        variables: vec![],
        validations: vec![forbidden(&expression, message)],
    }
}

fn status(rules: Vec<Value>) -> Policy {
    let message = "only Kraken's controllers write the status and its plan";
    Policy {
        rules,
        conditions: vec![],
        variables: vec![],
        validations: vec![forbidden(BY_CONTROLLER, message)],
    }
}

fn protect(rules: Vec<Value>) -> Policy {
    let expression = "!oldObject.?spec.?lifecycle.?protect.orValue(false)";
    let message =
        "spec.lifecycle.protect is true: set it to false to delete this resource and its remote objects";
    Policy { rules, conditions: vec![], variables: vec![], validations: vec![forbidden(expression, message)] }
}

/// Approving a plan, and disabling manual approval.
fn approve(rules: Vec<Value>) -> Policy {
    let approved =
        |object: &str| format!("{object}.metadata.?annotations[?'{APPROVED_PLAN_ANNOTATION}'].orValue('')");
    let is_manual = |object: &str| format!("{object}.?spec.?lifecycle.?approval.orValue('') == 'Manual'");
    let (new, old) = (approved("object"), approved("oldObject"));
    let approves = format!(
        "({new} != '' && (oldObject == null || {new} != {old})) || \
         (oldObject != null && {} && !({}))",
        is_manual("oldObject"),
        is_manual("object")
    );
    let may = "authorizer.group(request.resource.group).resource(request.resource.resource).namespace(request.namespace)\
               .name(object.metadata.name).check('approve').allowed()";
    let message = format!(
        "approving a plan (the annotation {APPROVED_PLAN_ANNOTATION}) and disabling spec.lifecycle.approval: Manual require the verb \
         approve on this kind (ClusterRole kraken-approve)"
    );
    Policy {
        rules,
        conditions: vec![json!({"name": "approves", "expression": approves})],
        variables: vec![],
        validations: vec![forbidden(may, &message)],
    }
}

/// Restarting a workload requires the permission to patch it: the hub must do nothing that the author could not do.
fn restart(rules: Vec<Value>) -> Policy {
    /// Each expression has a budget of 1,000,000, and each check costs 350,000.
    const CHECKS: usize = 2;
    /// The bound of the list in the CRD.
    const MOST: usize = 8;
    let changes = "has(object.spec.restart) && (oldObject == null || object.spec != oldObject.spec)";
    let check = |first: usize| {
        let indices: Vec<String> = (first..first + CHECKS).map(|index| index.to_string()).collect();
        let may = "authorizer.group('apps').resource(object.spec.restart[i].kind.lowerAscii() + 's')\
                   .namespace(request.namespace).name(object.spec.restart[i].name).check('patch').allowed()";
        let list = indices.join(", ");
        let expression = format!("[{list}].all(i, i >= object.spec.restart.size() || {may})");
        forbidden(&expression, "you must be allowed to patch each workload in spec.restart")
    };
    Policy {
        rules,
        conditions: vec![json!({"name": "restarts", "expression": changes})],
        variables: vec![],
        validations: (0..MOST).step_by(CHECKS).map(check).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(plural: &str, category: &str, spec: &Value) -> Value {
        json!({"spec": {
            "group": "a.b", "names": {"plural": plural, "categories": [category]},
            "versions": [{
                "schema": {"openAPIV3Schema": {"properties": {"spec": {"properties": spec}}}},
                "subresources": if category == "kraken" { json!({"status": {}}) } else { json!({}) },
            }],
        }})
    }

    fn names(crds: &[Value]) -> Vec<String> {
        let text = policies("x", crds, &BTreeSet::new()).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let policies = documents.iter().filter(|document| document["kind"] == "ValidatingAdmissionPolicy");
        policies.map(|policy| policy["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    }

    #[test]
    fn a_component_has_the_policies_that_its_kinds_need() {
        let option =
            json!({"properties": {"valueFrom": {"properties": {"secret": {}, "templateString": {}}}}});
        let vpcs = crd("vpcs", "kraken", &json!({"lifecycle": {}, "cidr": option}));
        assert_eq!(
            names(&[vpcs]),
            [
                "kraken-x-installation",
                "kraken-x-status",
                "kraken-x-protect",
                "kraken-x-approve",
                "kraken-x-secrets-vpcs"
            ]
        );
        let states = crd("statedeclarations", "kraken-internal", &json!({"data": {}}));
        assert_eq!(names(&[states]), ["kraken-x-installation", "kraken-x-records", "kraken-x-states"]);
        let exports = crd("configexports", "kraken", &json!({"restart": {}}));
        assert_eq!(names(&[exports]), ["kraken-x-installation", "kraken-x-status", "kraken-x-restart"]);
    }

    #[test]
    fn each_policy_is_bound_by_name_and_denies() {
        let text =
            policies("x", &[crd("vpcs", "kraken", &json!({"lifecycle": {}}))], &BTreeSet::new()).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        for pair in documents.chunks(2) {
            assert_eq!(pair[0]["spec"]["failurePolicy"], "Fail");
            assert_eq!(pair[1]["spec"]["policyName"], pair[0]["metadata"]["name"]);
            assert_eq!(pair[1]["spec"]["validationActions"], json!(["Deny"]));
        }
    }

    #[test]
    fn kinds_that_are_made_at_run_time_have_the_policies_of_all_kinds_and_limit_their_maker() {
        let text = policies("x", &[], &BTreeSet::from(["made.a.b".to_owned()])).unwrap();
        let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
        let of = |name: &str| {
            let policy = documents.iter().find(|one| {
                one["kind"] == "ValidatingAdmissionPolicy"
                    && one["metadata"]["name"] == format!("kraken-x-{name}")
            });
            policy.unwrap_or_else(|| panic!("{name}: {text}"))["spec"].clone()
        };
        for (name, resource) in
            [("protect", "*"), ("approve", "*"), ("status", "*/status"), ("secrets-of-kinds", "*")]
        {
            let rule = &of(name)["matchConstraints"]["resourceRules"][0];
            assert_eq!(
                (&rule["apiGroups"], &rule["resources"]),
                (&json!(["made.a.b"]), &json!([resource])),
                "{name}"
            );
        }
        for (name, resource) in [("crds", "customresourcedefinitions"), ("secrets", "secrets")] {
            let spec = of(name);
            assert_eq!(spec["matchConstraints"]["resourceRules"][0]["resources"], json!([resource]));
            assert!(
                spec["matchConditions"][0]
                    .to_string()
                    .contains("system:serviceaccount:kraken-system:kraken-x")
            );
        }
    }
}
