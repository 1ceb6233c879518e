use std::sync::atomic::{AtomicUsize, Ordering};

use futures::FutureExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kraken_api::{DependencyRequestStatus, dependency_request::DependentValues};
use kraken_runtime::queue::Requeue;
use kube::api::ObjectMeta;
use serde_json::json;

use super::*;
use crate::store::lookup::{Lookup, RECENT, Read};

const DEPENDENTS: usize = 10_000;

fn router() -> EventRouter {
    EventRouter::new(Arc::default(), DEPENDENTS)
}

fn request(number: usize) -> DependencyRequest {
    let spec = json!({"configMapDependencies": [{"name": "sizes", "key": "small"}]});
    let mut request =
        DependencyRequest::new(&format!("vpc.aws.{number}"), serde_json::from_value(spec).unwrap());
    request.metadata.namespace = Some("ns".into());
    request.metadata.uid = Some(number.to_string());
    request.metadata.generation = Some(1);
    request
}

fn answered(request: &DependencyRequest, text: &str) -> DependencyRequest {
    let mut values = DependentValues::default();
    values.from_config_maps.entry("sizes".into()).or_default().insert("small".into(), text.into());
    let status = DependencyRequestStatus { dependent_values: values, ..DependencyRequestStatus::default() };
    DependencyRequest { status: Some(status), ..request.clone() }
}

fn sizes() -> Change<PartialObjectMeta<ConfigMap>> {
    let metadata =
        ObjectMeta { namespace: Some("ns".into()), name: Some("sizes".into()), ..ObjectMeta::default() };
    Change::Applied(Arc::new(PartialObjectMeta { metadata, ..PartialObjectMeta::default() }), None)
}

/// Drains the queue, and counts its keys.
fn drained(queue: &Queue<ObjectKey>) -> usize {
    let mut runs = 0;
    while let Some((key, _)) = queue.next().now_or_never() {
        queue.done(&key, Requeue::Never);
        runs += 1;
    }
    runs
}

#[test]
fn one_config_map_triggers_each_of_ten_thousand_dependents_once() {
    let router = router();
    let requests: Vec<_> = (0..DEPENDENTS).map(request).collect();
    for request in &requests {
        router.request(&Change::Applied(Arc::new(request.clone()), None));
    }
    assert_eq!(drained(&router.requests), DEPENDENTS);
    router.object(Class::ConfigMap, &sizes());
    assert_eq!(drained(&router.requests), DEPENDENTS);
    for request in &requests {
        let answered = answered(request, "t2.nano");
        let dependent = Dependent::Request(ObjectKey::of(request.meta()));
        router.written.sending(&dependent, &answered.status);
        router.request(&Change::Applied(Arc::new(answered), Some(Arc::new(request.clone()))));
    }
    assert_eq!(drained(&router.requests), 0, "our own writes trigger no reconcile");
}

#[test]
fn a_status_write_by_others_triggers_a_reconcile() {
    let router = router();
    let pending = request(1);
    router.request(&Change::Applied(Arc::new(pending.clone()), None));
    drained(&router.requests);
    let ours = answered(&pending, "t2.nano");
    let by = Dependent::Request(ObjectKey::of(pending.meta()));
    router.written.sending(&by, ours.status.as_ref().unwrap());
    let theirs = answered(&pending, "x1e.32xlarge");
    router.request(&Change::Applied(Arc::new(theirs), Some(Arc::new(ours))));
    assert_eq!(drained(&router.requests), 1);
}

#[test]
fn an_edit_with_the_generation_and_the_status_of_a_lost_one_triggers_a_reconcile() {
    let router = router();
    let lost = answered(&request(1), "t2.nano");
    router.request(&Change::Applied(Arc::new(lost.clone()), None));
    drained(&router.requests);
    let dependent = Dependent::Request(ObjectKey::of(lost.meta()));
    router.written.sending(&dependent, &lost.status);
    // A backup was restored, the request was edited, and then the answer to the lost edit was written.
    let mut edited = lost.clone();
    edited.spec.config_map_dependencies[0].key = "large".into();
    assert_eq!(edited.metadata.generation, lost.metadata.generation);
    router.request(&Change::Applied(Arc::new(edited), Some(Arc::new(lost))));
    assert_eq!(drained(&router.requests), 1);
}

#[test]
fn a_status_that_was_written_after_a_restored_backup_is_written_again() {
    let router = router();
    let at = |version: &str| {
        let mut request = request(1);
        request.metadata.resource_version = Some(version.into());
        Arc::new(request)
    };
    let dependent = Dependent::Request(ObjectKey::of(&request(1).metadata));
    router.written.note(dependent.clone(), &"x", Some("7".into()), Some("9".into()));
    router.request(&Change::Applied(at("9"), Some(at("7"))));
    assert!(router.written.is_current(&dependent, &"x", Some("9")));
    router.request(&Change::Applied(at("7"), Some(at("9"))));
    assert!(!router.written.is_current(&dependent, &"x", Some("7")));
    assert_eq!(drained(&router.requests), 1);
}

#[test]
fn a_status_that_a_restored_backup_lost_before_the_watch_returned_it_is_written_again() {
    let router = router();
    let listed = |version: &str| {
        let mut request = request(1);
        request.metadata.resource_version = Some(version.into());
        Change::Listed(Arc::new(request))
    };
    let dependent = Dependent::Request(ObjectKey::of(&request(1).metadata));
    router.written.note(dependent.clone(), &"x", Some("7".into()), Some("9".into()));
    router.request(&listed("9"));
    assert_eq!(drained(&router.requests), 0, "the list has the write");
    router.request(&listed("7"));
    assert!(!router.written.is_current(&dependent, &"x", Some("7")));
    assert_eq!(drained(&router.requests), 1);
    router.request(&listed("7"));
    assert_eq!(drained(&router.requests), 0, "only once");
}

#[tokio::test]
async fn the_bodies_that_reviews_read_last_are_kept_except_those_of_secrets() {
    let (router, reads) = (router(), Arc::new(AtomicUsize::new(0)));
    let is_read = async |class, number: usize| {
        let named = ObjectRef::new(class, "ns", &number.to_string());
        let (before, counted) = (reads.load(Ordering::SeqCst), reads.clone());
        let read = async move {
            counted.fetch_add(1, Ordering::SeqCst);
            Ok(Read { version: Some("1".into()), lookup: Lookup::Missing })
        };
        router.cache.get(&named, "1", || read).await.unwrap();
        router.unnamed(&named);
        reads.load(Ordering::SeqCst) > before
    };
    assert!(is_read(Class::ConfigMap, 0).await);
    assert!(!is_read(Class::ConfigMap, 0).await);
    for number in 1..=RECENT {
        assert!(is_read(Class::ConfigMap, number).await);
    }
    assert!(is_read(Class::ConfigMap, 0).await, "others were read since");
    assert!(is_read(Class::Secret, 0).await);
    assert!(is_read(Class::Secret, 0).await);
}

#[test]
fn a_grant_triggers_the_references_from_other_namespaces_to_its_own() {
    let router = router();
    let with = |namespace: &str, number: usize, name: &str, other: Option<&str>| {
        let spec = json!({"krakenResourceDependencies": [{"kind": "vpc", "name": name, "namespace": other}]});
        let mut request = request(number);
        request.spec = serde_json::from_value(spec).unwrap();
        request.metadata.namespace = Some(namespace.into());
        router.request(&Change::Applied(Arc::new(request), None));
    };
    with("shop", 1, "main", Some("platform"));
    with("shop", 2, "main", None);
    with("platform", 3, "main", None);
    with("platform", 4, "main", Some("shop"));
    drained(&router.requests);
    let grant = |to: &str| -> Arc<ReferenceGrant> {
        let spec = json!({"from": [{"namespace": "shop"}], "to": [{"kind": to}]});
        Arc::new(
            serde_json::from_value(json!({"metadata": {"name": "g", "namespace": "platform"}, "spec": spec}))
                .unwrap(),
        )
    };
    router.grant(&Change::Applied(grant("VPC"), None));
    assert_eq!(drained(&router.requests), 1, "only the one of the shop to the platform");
    router.grant(&Change::Applied(grant("VPC"), Some(grant("VPC"))));
    router.grant(&Change::Listed(grant("VPC")));
    assert_eq!(drained(&router.requests), 0, "nothing changed");
    router.grant(&Change::Applied(grant("Subnet"), Some(grant("VPC"))));
    router.grant(&Change::Deleted(grant("Subnet")));
    assert_eq!(drained(&router.requests), 1, "twice, in one reconcile");
}
