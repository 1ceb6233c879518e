//! What is right and wrong about the parts of an installation. Pure.

use jiff::Timestamp;
use k8s_openapi::{
    api::{
        admissionregistration::v1::ValidatingWebhookConfiguration, apps::v1::Deployment,
        coordination::v1::Lease,
    },
    apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    apimachinery::pkg::version::Info,
};
use kraken_api::HUB_NAME;

use super::{Finding, Level};
use crate::discovery::Kinds;

/// The oldest minor version of Kubernetes 1 that Kraken supports.
const OLDEST_MINOR: u32 = 33;
/// The kinds without which nothing is reconciled.
const CORE: [&str; 3] = ["ConfigExport", "DependencyRequest", "StateDeclaration"];
/// The prefix of the names of controllers and their leases.
const PREFIX: &str = "kraken-";

pub(super) fn server(url: &str, version: &Info) -> Finding {
    let digits: String = version.minor.chars().take_while(char::is_ascii_digit).collect();
    let is_old = version.major == "1" && digits.parse().is_ok_and(|minor: u32| minor < OLDEST_MINOR);
    let text = format!("Kubernetes {}", version.git_version);
    if is_old {
        return Finding::new(Level::Fails, url, format!("{text}: Kraken requires 1.{OLDEST_MINOR} or later"));
    }
    Finding::new(Level::Ok, url, text)
}

pub(super) fn kinds(kinds: &Kinds) -> Vec<Finding> {
    let part = "CustomResourceDefinitions";
    let missing: Vec<_> = CORE.into_iter().filter(|kind| kinds.named(kind).is_none()).collect();
    if !missing.is_empty() {
        let text =
            format!("{} missing: install them (kubectl apply --server-side -k crds)", missing.join(", "));
        return vec![Finding::new(Level::Fails, part, text)];
    }
    let names: Vec<_> = kinds.users().map(|kind| kind.resource.kind.as_str()).collect();
    vec![Finding::new(Level::Ok, part, format!("{} kinds: {}", names.len(), names.join(", ")))]
}

/// A CRD that is not served or is being deleted.
pub(super) fn crd(crd: &CustomResourceDefinition) -> Option<Finding> {
    let name = crd.metadata.name.clone().unwrap_or_default();
    if crd.metadata.deletion_timestamp.is_some() {
        let text = "is being deleted, with all objects of the kind";
        return Some(Finding::new(Level::Fails, name, text));
    }
    let conditions = crd.status.as_ref().and_then(|status| status.conditions.as_ref());
    let established = conditions.into_iter().flatten().find(|condition| condition.type_ == "Established");
    match established {
        Some(condition) if condition.status == "True" => None,
        Some(condition) => Some(Finding::new(
            Level::Fails,
            name,
            condition.message.clone().unwrap_or_else(|| "is not served".to_owned()),
        )),
        None => Some(Finding::new(Level::Fails, name, "is not served yet")),
    }
}

pub(super) fn deployments(deployments: &[Deployment]) -> Vec<Finding> {
    if deployments.is_empty() {
        let text = "none has the label app.kubernetes.io/part-of=kraken: the controllers do not run in this cluster, or were \
                    installed by other means";
        return vec![Finding::new(Level::Note, "Deployments", text)];
    }
    let mut findings: Vec<_> = deployments.iter().map(deployment).collect();
    if !deployments.iter().any(|one| one.metadata.name.as_deref() == Some(HUB_NAME)) {
        findings.push(Finding::new(
            Level::Fails,
            HUB_NAME,
            "missing: no reference is resolved and nothing is exported",
        ));
    }
    findings
}

fn deployment(deployment: &Deployment) -> Finding {
    let part = format!("Deployment {}", deployment.metadata.name.clone().unwrap_or_default());
    let wanted = deployment.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let ready = deployment.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or(0);
    let version = image_version(deployment).unwrap_or_else(|| "unknown".to_owned());
    let own = env!("CARGO_PKG_VERSION");
    let text = format!("{ready} of {wanted} ready, version {version}");
    match () {
        () if wanted == 0 => Finding::new(
            Level::Fails,
            part,
            format!("scaled to 0: its kinds are not reconciled; version {version}"),
        ),
        () if ready == 0 => Finding::new(Level::Fails, part, format!("{text}; see its pods and their logs")),
        () if minor(&version) != minor(own) => Finding::new(
            Level::Note,
            part,
            format!("{text}; this program is {own}: use the same minor version"),
        ),
        () => Finding::new(Level::Ok, part, text),
    }
}

/// The version that the manifests of a controller have, or the tag of its image.
pub(in crate::commands) fn image_version(deployment: &Deployment) -> Option<String> {
    let pod = deployment.spec.as_ref()?.template.spec.as_ref()?;
    let container = pod.containers.first()?;
    let tag = container.image.as_deref().and_then(|image| {
        let (_, name) = image.rsplit_once('/').unwrap_or(("", image));
        name.split('@').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag.to_owned())
    });
    let of_manifest = || {
        let variable =
            container.env.iter().flatten().find(|variable| variable.name == "KRAKEN_MANIFEST_VERSION");
        variable.and_then(|variable| variable.value.clone())
    };
    tag.or_else(of_manifest)
}

fn minor(version: &str) -> Option<(&str, &str)> {
    let mut parts = version.split('.');
    parts.next().zip(parts.next())
}

pub(super) fn leases(leases: &[Lease], now: Timestamp) -> Vec<Finding> {
    let own = leases.iter().filter(|lease| name(lease).starts_with(PREFIX));
    let mut findings: Vec<_> = own.map(|lease| self::lease(lease, now)).collect();
    if !leases.iter().any(|lease| name(lease) == HUB_NAME) {
        let text = "no lease in namespace kraken-system: the hub never led there";
        findings.push(Finding::new(Level::Fails, format!("Lease {HUB_NAME}"), text));
    }
    findings
}

fn lease(lease: &Lease, now: Timestamp) -> Finding {
    let part = format!("Lease {}", name(lease));
    match holder(lease, now) {
        Ok(holder) => Finding::new(Level::Ok, part, format!("held by {holder}")),
        Err(why) => Finding::new(
            Level::Fails,
            part,
            format!("{why}: its kinds are not reconciled; see the logs of the controller"),
        ),
    }
}

/// Who leads, or why nobody does.
fn holder(lease: &Lease, now: Timestamp) -> Result<String, String> {
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec.holder_identity.filter(|holder| !holder.is_empty()).ok_or("held by nobody")?;
    let renewed = spec.renew_time.ok_or("never renewed")?.0;
    let age = now.duration_since(renewed).as_secs();
    let duration = i64::from(spec.lease_duration_seconds.unwrap_or(15));
    if age > duration { Err(format!("{holder} renewed it last {age} s ago")) } else { Ok(holder) }
}

fn name(lease: &Lease) -> &str {
    lease.metadata.name.as_deref().unwrap_or_default()
}

/// The webhooks have the authority of their server's certificate, and their controllers exist.
pub(super) fn webhooks(
    configurations: &[ValidatingWebhookConfiguration],
    leases: Option<&[Lease]>,
    deployments: Option<&[Deployment]>,
) -> Vec<Finding> {
    if configurations.is_empty() {
        let text = "none is installed: mistakes become conditions instead of rejections";
        return vec![Finding::new(Level::Note, "Webhooks", text)];
    }
    let exists = |controller: &str| {
        let leases = leases.map(|leases| leases.iter().any(|lease| name(lease) == controller));
        let deployments = deployments
            .map(|all| all.iter().any(|deployment| deployment.metadata.name.as_deref() == Some(controller)));
        leases == Some(true) || deployments == Some(true) || (leases.is_none() && deployments.is_none())
    };
    configurations.iter().map(|configuration| webhook(configuration, &exists)).collect()
}

fn webhook(configuration: &ValidatingWebhookConfiguration, exists: &dyn Fn(&str) -> bool) -> Finding {
    let controller = configuration.metadata.name.clone().unwrap_or_default();
    let part = format!("Webhooks {controller}");
    let all: Vec<_> = configuration.webhooks.iter().flatten().collect();
    let without = all
        .iter()
        .filter(|webhook| webhook.client_config.ca_bundle.as_ref().is_none_or(|ca| ca.0.is_empty()));
    let without = without.count();
    if without > 0 {
        let text = format!(
            "{without} of {} have no CA bundle, so that reviews fail and are skipped: the controller writes it when it starts",
            all.len()
        );
        return Finding::new(Level::Fails, part, text);
    }
    if !exists(&controller) {
        return Finding::new(Level::Note, part, "no controller of this name: nothing answers its reviews");
    }
    Finding::new(Level::Ok, part, format!("{} with a CA bundle", all.len()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn parsed<T: serde::de::DeserializeOwned>(value: Value) -> T {
        serde_json::from_value(value).unwrap()
    }

    fn hub(replicas: i32, ready: i32, image: &str) -> Deployment {
        parsed(json!({"metadata": {"name": "kraken-hub"}, "status": {"readyReplicas": ready},
            "spec": {"replicas": replicas, "selector": {}, "template": {"spec": {"containers": [
                {"name": "controller", "image": image, "env": [{"name": "KRAKEN_MANIFEST_VERSION", "value": "0.0.9"}]}]}}}}))
    }

    #[test]
    fn a_deployment_must_have_a_ready_replica_and_the_same_minor_version() {
        let own = env!("CARGO_PKG_VERSION");
        for (replicas, ready, image, level) in [
            (1, 1, format!("kraken-hub:{own}"), Level::Ok),
            (2, 1, format!("example.com:5000/team/kraken-hub:{own}"), Level::Ok),
            (1, 0, format!("kraken-hub:{own}"), Level::Fails),
            (0, 0, format!("kraken-hub:{own}"), Level::Fails),
            (1, 1, "kraken-hub:99.1.0".to_owned(), Level::Note),
            (1, 1, "kraken-hub@sha256:abc".to_owned(), Level::Note),
        ] {
            let findings = deployments(&[hub(replicas, ready, &image)]);
            assert_eq!(findings.len(), 1);
            assert_eq!(findings[0].level, level, "{findings:?}");
        }
        assert_eq!(deployments(&[])[0].level, Level::Note);
        let mut other = hub(1, 1, "x:1");
        other.metadata.name = Some("kraken-aws-vpc".into());
        assert_eq!(deployments(&[other]).last().map(|finding| finding.level), Some(Level::Fails));
    }

    #[test]
    fn a_lease_must_be_held_and_renewed() {
        let now: Timestamp = "2026-01-01T00:01:00Z".parse().unwrap();
        let lease = |holder: &str, renewed: &str| {
            parsed::<Lease>(json!({"metadata": {"name": "kraken-hub"},
                "spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}}))
        };
        for (holder, renewed, level) in [
            ("pod-1", "2026-01-01T00:00:50.000000Z", Level::Ok),
            ("pod-1", "2026-01-01T00:00:30.000000Z", Level::Fails),
            ("", "2026-01-01T00:00:50.000000Z", Level::Fails),
        ] {
            assert_eq!(leases(&[lease(holder, renewed)], now)[0].level, level, "{holder} {renewed}");
        }
        assert_eq!(leases(&[], now)[0].level, Level::Fails);
    }

    #[test]
    fn webhooks_must_have_a_ca_bundle() {
        let configuration = |ca: Value| {
            parsed::<ValidatingWebhookConfiguration>(
                json!({"metadata": {"name": "kraken-hub"}, "webhooks": [{
                "name": "a.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "clientConfig": {"caBundle": ca}}]}),
            )
        };
        assert_eq!(webhooks(&[configuration(json!("YQ=="))], None, None)[0].level, Level::Ok);
        assert_eq!(webhooks(&[configuration(Value::Null)], None, None)[0].level, Level::Fails);
        assert_eq!(webhooks(&[configuration(json!("YQ=="))], Some(&[]), Some(&[]))[0].level, Level::Note);
        assert_eq!(webhooks(&[], None, None)[0].level, Level::Note);
    }

    #[test]
    fn old_servers_and_missing_kinds_are_named() {
        let info = |minor: &str| Info {
            major: "1".into(),
            minor: minor.into(),
            git_version: "v1".into(),
            ..Info::default()
        };
        assert_eq!(server("https://x", &info("32")).level, Level::Fails);
        assert_eq!(server("https://x", &info("33+")).level, Level::Ok);
        let missing = kinds(&Kinds::default());
        assert!(missing[0].text.contains("StateDeclaration"), "{missing:?}");
    }
}
