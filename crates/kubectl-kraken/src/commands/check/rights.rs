//! What the user and the controllers may not do.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use futures::{StreamExt as _, stream};
use k8s_openapi::api::{
    apps::v1::Deployment,
    authorization::v1::{
        ResourceAttributes, ResourceRule, SelfSubjectRulesReview, SelfSubjectRulesReviewSpec,
        SubjectAccessReview, SubjectAccessReviewSpec,
    },
    core::v1::EnvVar,
    rbac::v1::{ClusterRole, PolicyRule},
};
use kube::{Api, api::PostParams};
use serde_json::Value;

use super::{Finding, Level};
use crate::{
    cluster::Cluster,
    discovery::{Kind, Kinds},
    embedded,
    failure::{explain, is_forbidden},
};

/// The variable with the namespaces of a controller that does not manage the whole cluster.
const NAMESPACES: &str = "KRAKEN_NAMESPACES";
/// The variable with the controllers of a shared process, if it does not run all.
const CONTROLLERS: &str = "KRAKEN_CONTROLLERS";
/// How the name of a shared process ends, after the prefix of its controllers.
const SHARED: &str = "all";
/// How the name of a role ends that the hub has for the kinds of a controller.
const OF_HUB: &str = "-hub";
/// Requests at a time.
const CONCURRENT: usize = 16;
/// The number of rights that one finding names.
const MAX_NAMED: usize = 4;

/// What the commands of this program require, by the ClusterRole that has it.
const COMMANDS: [(&str, &[&str], &str); 3] = [
    ("kraken-view", &["get", "list", "watch"], "status, why, deps, plan and the others that read"),
    ("kraken-edit", &["create", "patch", "delete"], "apply, pause, reconcile, undelete, mv"),
    ("kraken-approve", &["approve"], "approve"),
];

/// A right: group, resource with subresource, verb.
type Right = (String, String, String);

/// What the user may do with Kraken's kinds in the namespace. One request.
pub(super) async fn of_user(cluster: &Cluster, kinds: &Kinds) -> Result<Vec<Finding>> {
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(cluster.namespace.clone()) };
    let review = SelfSubjectRulesReview { spec, ..SelfSubjectRulesReview::default() };
    let api: Api<SelfSubjectRulesReview> = Api::all(cluster.client.clone());
    let part = format!("Your rights in {}", cluster.namespace);
    match api.create(&PostParams::default(), &review).await {
        Ok(answer) => {
            let status = answer.status.unwrap_or_default();
            let all: Vec<&Kind> = kinds.users().collect();
            Ok(judged(&part, &status.resource_rules, &all, status.incomplete))
        }
        Err(error) if is_forbidden(&error) => Ok(vec![Finding::new(
            Level::Note,
            part,
            "not checked: the API server does not say what you may do",
        )]),
        Err(error) => Err(explain(error, "ask for your rights", &cluster.server)),
    }
}

fn judged(part: &str, rules: &[ResourceRule], kinds: &[&Kind], is_incomplete: bool) -> Vec<Finding> {
    let may = |kind: &Kind, verb: &str| {
        rules.iter().any(|rule| {
            let has = |list: Option<&Vec<String>>, wanted: &str| {
                list.is_some_and(|list| list.iter().any(|one| one == wanted || one == "*"))
            };
            rule.resource_names.as_ref().is_none_or(Vec::is_empty)
                && has(Some(&rule.verbs), verb)
                && has(rule.api_groups.as_ref(), &kind.resource.group)
                && has(rule.resources.as_ref(), &kind.resource.plural)
        })
    };
    let mut findings = vec![];
    for (role, verbs, commands) in COMMANDS {
        // Accounts are written, and their plans approved, by administrators only; an export has no plan.
        let concerned = kinds.iter().filter(|kind| {
            role == "kraken-view" || !matches!(kind.resource.kind.as_str(), "Account" | "ConfigExport")
        });
        let missing: Vec<_> = concerned
            .flat_map(|kind| verbs.iter().map(move |verb| (*kind, *verb)))
            .filter(|(kind, verb)| !may(kind, verb))
            .map(|(kind, verb)| format!("{verb} {}", kind.resource.plural))
            .collect();
        let (level, text) = match missing.as_slice() {
            [] => (Level::Ok, format!("{}: {commands}", verbs.join(", "))),
            _ if is_incomplete => (Level::Note, format!("not known whether you may {}", named(&missing))),
            _ => (
                Level::Note,
                format!("you may not {}, for {commands}: ask for the ClusterRole {role}", named(&missing)),
            ),
        };
        findings.push(Finding::new(level, part, text));
    }
    findings
}

/// What each controller may not do that its role in this version has.
pub(super) async fn of_controllers(
    cluster: &Cluster,
    deployments: Option<&[Deployment]>,
) -> Result<Vec<Finding>> {
    let Some(deployments) = deployments else { return Ok(vec![]) };
    let roles = roles()?;
    let mut findings = vec![];
    for deployment in deployments {
        let name = deployment.metadata.name.clone().unwrap_or_default();
        let (rights, Some(user)) = (required(&roles, &name, deployment), account(deployment)) else {
            continue;
        };
        if rights.is_empty() {
            continue;
        }
        let part = format!("Rights of {name}");
        if is_namespaced(deployment) {
            let text = format!("not checked: {NAMESPACES} restricts it to namespaces");
            findings.push(Finding::new(Level::Note, part, text));
            continue;
        }
        let api: Api<SubjectAccessReview> = Api::all(cluster.client.clone());
        let asked = rights.iter().map(|right| asked(&api, &user, right));
        let answers: Vec<_> = stream::iter(asked).buffered(CONCURRENT).collect().await;
        let mut missing = vec![];
        for (answer, (group, resource, verb)) in answers.into_iter().zip(&rights) {
            match answer {
                Ok(true) => {}
                Ok(false) => {
                    let dot = if group.is_empty() { "" } else { "." };
                    missing.push(format!("{verb} {resource}{dot}{group}"));
                }
                Err(error) if is_forbidden(&error) => {
                    let text = "not checked: you may not create SubjectAccessReviews, which cluster administrators may";
                    findings.push(Finding::new(Level::Note, "Rights of the controllers", text));
                    return Ok(findings);
                }
                Err(error) => return Err(explain(error, "review access", &cluster.server)),
            }
        }
        findings.push(if missing.is_empty() {
            Finding::new(
                Level::Ok,
                part,
                format!("all {} of version {}", rights.len(), env!("CARGO_PKG_VERSION")),
            )
        } else {
            let text = format!("{user} may not {}: apply the rbac.yaml of its component", named(&missing));
            Finding::new(Level::Fails, part, text)
        });
    }
    Ok(findings)
}

async fn asked(
    api: &Api<SubjectAccessReview>,
    user: &str,
    (group, resource, verb): &Right,
) -> kube::Result<bool> {
    let (resource, subresource) =
        resource.split_once('/').map_or((resource.as_str(), None), |(a, b)| (a, Some(b)));
    let attributes = ResourceAttributes {
        group: Some(group.clone()),
        resource: Some(resource.to_owned()),
        subresource: subresource.map(str::to_owned),
        verb: Some(verb.clone()),
        ..ResourceAttributes::default()
    };
    let spec = SubjectAccessReviewSpec {
        user: Some(user.to_owned()),
        groups: Some(vec!["system:serviceaccounts".to_owned(), "system:authenticated".to_owned()]),
        resource_attributes: Some(attributes),
        ..SubjectAccessReviewSpec::default()
    };
    let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
    let answer = api.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// The rights in the ClusterRole of each controller, without those to objects of a name.
fn roles() -> Result<BTreeMap<String, BTreeSet<Right>>> {
    let mut roles = BTreeMap::new();
    for text in embedded::roles() {
        for document in serde_saphyr::from_multiple::<Value>(text)? {
            if document["kind"] != "ClusterRole" {
                continue;
            }
            let role: ClusterRole = serde_json::from_value(document)?;
            let rights = role.rules.iter().flatten().flat_map(rights).collect();
            roles.insert(role.metadata.name.unwrap_or_default(), rights);
        }
    }
    Ok(roles)
}

/// The rights of the controllers in a Deployment: the one with its name, or those that share a process, such as all of AWS in
/// `kraken-aws-all`.
fn required(
    roles: &BTreeMap<String, BTreeSet<Right>>,
    name: &str,
    deployment: &Deployment,
) -> BTreeSet<Right> {
    let Some(prefix) = name.strip_suffix(SHARED) else { return roles.get(name).cloned().unwrap_or_default() };
    let chosen = variable(deployment, CONTROLLERS).unwrap_or_default();
    let chosen = chosen.split(',').map(str::trim).filter(|one| !one.is_empty());
    let chosen: Vec<String> = chosen.map(|one| format!("kraken-{one}")).collect();
    let is_chosen = |role: &String| chosen.is_empty() || chosen.contains(role);
    let of_process = roles
        .iter()
        .filter(|(role, _)| role.starts_with(prefix) && !role.ends_with(OF_HUB) && is_chosen(role));
    of_process.flat_map(|(_, rights)| rights.clone()).collect()
}

fn rights(rule: &PolicyRule) -> Vec<Right> {
    if rule.resource_names.as_ref().is_some_and(|names| !names.is_empty()) {
        return vec![];
    }
    let mut rights = vec![];
    for group in rule.api_groups.iter().flatten() {
        for resource in rule.resources.iter().flatten() {
            rights.extend(rule.verbs.iter().map(|verb| (group.clone(), resource.clone(), verb.clone())));
        }
    }
    rights
}

/// The user name of the service account of a controller.
fn account(deployment: &Deployment) -> Option<String> {
    let namespace = deployment.metadata.namespace.as_deref()?;
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    Some(format!("system:serviceaccount:{namespace}:{}", pod.service_account_name.as_deref()?))
}

/// Whether its namespaces are set, also by a reference whose value is not known here.
fn is_namespaced(deployment: &Deployment) -> bool {
    variables(deployment).any(|variable| {
        variable.name == NAMESPACES && variable.value.as_ref().is_none_or(|value| !value.is_empty())
    })
}

fn variable(deployment: &Deployment, name: &str) -> Option<String> {
    variables(deployment).find(|variable| variable.name == name)?.value.clone()
}

fn variables(deployment: &Deployment) -> impl Iterator<Item = &EnvVar> {
    let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let containers = pod.into_iter().flat_map(|pod| &pod.containers);
    containers.flat_map(|container| container.env.iter().flatten())
}

fn named(rights: &[String]) -> String {
    match rights.len().saturating_sub(MAX_NAMED) {
        0 => rights.join(", "),
        more => format!("{} and {more} more", rights[..MAX_NAMED].join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::discovery::tests::kinds;

    #[test]
    fn rights_that_a_command_requires_are_named_with_their_role() {
        let kinds = kinds();
        let all: Vec<&Kind> = kinds.users().collect();
        let rule = |verbs: &[&str]| {
            serde_json::from_value::<ResourceRule>(
                json!({"verbs": verbs, "apiGroups": ["*"], "resources": ["*"]}),
            )
            .unwrap()
        };
        let levels = |rules: &[ResourceRule]| {
            judged("x", rules, &all, false).into_iter().map(|finding| finding.level).collect::<Vec<_>>()
        };
        assert_eq!(levels(&[rule(&["*"])]), [Level::Ok, Level::Ok, Level::Ok]);
        assert_eq!(levels(&[rule(&["get", "list", "watch"])]), [Level::Ok, Level::Note, Level::Note]);
        let found = judged("x", &[rule(&["get", "list", "watch"])], &all, false);
        assert!(
            found[1].text.contains("create ") && found[1].text.contains("ClusterRole kraken-edit"),
            "{found:?}"
        );
        assert!(!found[1].text.contains("accounts"), "{found:?}");
    }

    #[test]
    fn each_controller_has_a_role_in_this_version() {
        let roles = roles().unwrap();
        for name in ["kraken-hub", "kraken-aws-account", "kraken-aws-ec2-instance", "kraken-aws-elb"] {
            assert!(roles.contains_key(name), "{name}");
        }
        let deployment = |variable: serde_json::Value| -> Deployment {
            let container = json!({"name": "controller", "env": [variable]});
            let pod =
                json!({"template": {"metadata": {}, "spec": {"containers": [container]}}, "selector": {}});
            serde_json::from_value(json!({"spec": pod})).unwrap()
        };
        let of_all = required(&roles, "kraken-aws-all", &deployment(json!({"name": "X"})));
        let one = deployment(json!({"name": CONTROLLERS, "value": "aws-vpc"}));
        let vpc = required(&roles, "kraken-aws-all", &one);
        assert_eq!(vpc, required(&roles, "kraken-aws-vpc", &one));
        assert!(of_all.len() > 2 * vpc.len() && vpc.iter().all(|right| of_all.contains(right)));
        assert!(vpc.contains(&(
            "aws.kraken-iac.eoinfennessy.com".into(),
            "vpcs/status".into(),
            "patch".into()
        )));
    }
}
