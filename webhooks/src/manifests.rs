//! The objects that the API server needs to call a controller's webhooks: the ValidatingWebhookConfiguration, generated from
//! the same table as the routes, a Service, and the empty Secret that the [rotator](crate::rotator) manages. Pure.

use std::collections::BTreeMap;

use k8s_openapi::{
    api::{
        admissionregistration::v1::{
            MatchCondition, RuleWithOperations, ServiceReference, ValidatingWebhook,
            ValidatingWebhookConfiguration, WebhookClientConfig,
        },
        core::v1::{Secret, Service, ServicePort, ServiceSpec},
        rbac::v1::PolicyRule,
    },
    apimachinery::pkg::{apis::meta::v1::ObjectMeta, util::intstr::IntOrString},
};
use kraken_api::{PREVIEW_ANNOTATION, SYSTEM_NAMESPACE};

use crate::{Hook, Operation};

/// The port of the server in a pod, by number and by name.
pub const PORT: u16 = 9443;
/// The name of the port.
pub const PORT_NAME: &str = "webhook";
/// A write must not wait long for a webhook that does not respond.
const TIMEOUT_SECONDS: i32 = 5;

/// The Secret with the serving certificate of a controller.
pub fn secret_name(component: &str) -> String {
    format!("{component}-webhook")
}

/// The Service by which the API server calls it.
pub fn service_name(component: &str) -> String {
    format!("{component}-webhook")
}

/// The objects of a controller's webhooks.
#[derive(Clone, Debug, PartialEq)]
pub struct Manifests {
    /// Empty: the rotator manages it. It is in the manifests so that no permission to create Secrets is needed.
    pub secret: Secret,
    /// Selects every replica, leader or standby.
    pub service: Service,
    /// The webhooks and their rules.
    pub configuration: ValidatingWebhookConfiguration,
}

/// The objects for these hooks.
pub fn manifests(component: &str, hooks: &[Hook]) -> Manifests {
    let port = ServicePort {
        name: Some(PORT_NAME.to_owned()),
        port: 443,
        target_port: Some(IntOrString::String(PORT_NAME.to_owned())),
        ..ServicePort::default()
    };
    let selector = BTreeMap::from([("app.kubernetes.io/name".to_owned(), component.to_owned())]);
    Manifests {
        secret: Secret {
            metadata: metadata(component, &secret_name(component), true),
            type_: Some("Opaque".to_owned()),
            ..Secret::default()
        },
        service: Service {
            metadata: metadata(component, &service_name(component), true),
            spec: Some(ServiceSpec {
                ports: Some(vec![port]),
                selector: Some(selector),
                ..ServiceSpec::default()
            }),
            ..Service::default()
        },
        configuration: ValidatingWebhookConfiguration {
            metadata: metadata(component, component, false),
            webhooks: Some(hooks.iter().map(|hook| webhook(component, hook)).collect()),
        },
    }
}

fn webhook(component: &str, hook: &Hook) -> ValidatingWebhook {
    let service = ServiceReference {
        name: service_name(component),
        namespace: SYSTEM_NAMESPACE.to_owned(),
        path: Some(hook.path()),
        port: None,
    };
    ValidatingWebhook {
        name: hook.name.clone(),
        admission_review_versions: vec!["v1".to_owned()],
        client_config: WebhookClientConfig { service: Some(service), ..WebhookClientConfig::default() },
        // No safety rule depends on this response: see docs/decisions/0058.
        failure_policy: Some("Ignore".to_owned()),
        match_policy: Some("Equivalent".to_owned()),
        side_effects: "None".to_owned(),
        timeout_seconds: Some(TIMEOUT_SECONDS),
        rules: Some(vec![RuleWithOperations {
            api_groups: Some(hook.groups.clone()),
            api_versions: Some(vec![hook.version.clone()]),
            // Without subresources: a status is not reviewed.
            resources: Some(hook.resources.clone()),
            operations: Some(hook.operations.iter().map(|operation| operation.as_str().to_owned()).collect()),
            scope: Some("Namespaced".to_owned()),
        }]),
        match_conditions: Some(conditions(&hook.operations)),
        ..ValidatingWebhook::default()
    }
}

/// Changes of finalizers, labels and annotations are not reviewed, except a dry run that asks what exists in the cloud,
/// nor are changes of an object that is being deleted. A
/// deletion is reviewed if the object is protected, or has remote objects, whose end its author is told: not a
/// controller of Kubernetes, which deletes all resources of a namespace.
fn conditions(operations: &[Operation]) -> Vec<MatchCondition> {
    let condition = |name: &str, expression: &str| MatchCondition {
        name: name.to_owned(),
        expression: expression.to_owned(),
    };
    let spec_changes = format!(
        "request.operation != 'UPDATE' || object.spec != oldObject.spec || (has(request.dryRun) && request.dryRun && \
         has(object.metadata.annotations) && '{PREVIEW_ANNOTATION}' in object.metadata.annotations)"
    );
    let mut conditions = vec![
        condition("spec-changes", &spec_changes),
        condition(
            "not-being-deleted",
            "request.operation == 'DELETE' || !has(object.metadata.deletionTimestamp)",
        ),
    ];
    if operations.contains(&Operation::Delete) {
        conditions.push(condition(
            "deletion-with-effects",
            "request.operation != 'DELETE' || (!has(oldObject.metadata.deletionTimestamp) && (\
             (has(oldObject.spec.lifecycle) && has(oldObject.spec.lifecycle.protect) && oldObject.spec.lifecycle.protect) \
             || (has(oldObject.status) && (has(oldObject.status.externalIds) || has(oldObject.status.answer)) \
             && !request.userInfo.username.startsWith('system:serviceaccount:kube-system:'))))",
        ));
    }
    conditions
}

fn metadata(component: &str, name: &str, namespaced: bool) -> ObjectMeta {
    let labels = [("app.kubernetes.io/name", component), ("app.kubernetes.io/part-of", "kraken")];
    ObjectMeta {
        name: Some(name.to_owned()),
        namespace: namespaced.then(|| SYSTEM_NAMESPACE.to_owned()),
        labels: Some(labels.map(|(key, value)| (key.to_owned(), value.to_owned())).into()),
        ..ObjectMeta::default()
    }
}

/// The cluster-wide permissions of the rotator: the one configuration of its controller.
pub fn cluster_rules(component: &str) -> Vec<PolicyRule> {
    let groups = ["admissionregistration.k8s.io"];
    vec![named(&groups, "validatingwebhookconfigurations", component, &["get", "patch"])]
}

/// The permissions of the rotator in the namespace of the controllers: the one existing Secret.
pub fn namespace_rules(component: &str) -> Vec<PolicyRule> {
    vec![named(&[""], "secrets", &secret_name(component), &["get", "update"])]
}

fn named(groups: &[&str], resource: &str, name: &str, verbs: &[&str]) -> PolicyRule {
    let owned = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(owned(groups)),
        resources: Some(owned(&[resource])),
        resource_names: Some(owned(&[name])),
        verbs: owned(verbs),
        ..PolicyRule::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hook() -> Hook {
        Hook {
            name: "vpcs.aws.example.com".into(),
            groups: vec!["aws.example.com".into()],
            version: "v1alpha1".into(),
            resources: vec!["vpcs".into()],
            operations: vec![Operation::Create, Operation::Update, Operation::Delete],
        }
    }

    #[test]
    fn configuration_has_the_path_that_the_router_serves() {
        let made = manifests("kraken-aws-vpc", &[hook()]);
        let webhook = &made.configuration.webhooks.unwrap()[0];
        let service = webhook.client_config.service.as_ref().unwrap();
        assert_eq!(service.path.as_deref(), Some("/validate/vpcs.aws.example.com"));
        assert_eq!(Some(&service.name), made.service.metadata.name.as_ref());
        assert_eq!(webhook.failure_policy.as_deref(), Some("Ignore"));
        assert_eq!(webhook.rules.as_ref().unwrap()[0].resources.as_deref(), Some(&["vpcs".to_owned()][..]));
    }

    #[test]
    fn rotator_can_change_one_secret_and_one_configuration() {
        let rules = [cluster_rules("kraken-hub"), namespace_rules("kraken-hub")].concat();
        assert!(rules.iter().all(|rule| rule.resource_names.as_ref().is_some_and(|names| names.len() == 1)));
        assert!(rules.iter().all(|rule| !rule.verbs.contains(&"create".to_owned())));
    }
}
