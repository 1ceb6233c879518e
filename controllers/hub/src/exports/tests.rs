use serde_json::json;

use super::*;
use crate::store::{
    dependents::export::{PARSED, Parsed},
    index::{Class, ObjectRef},
};

#[test]
fn an_export_depends_on_the_references_of_its_templates() {
    let entries = json!([
        {"key": "a", "valueFrom": {"templateString": "{{ .EC2-Instance.web.x }}{{ .ConfigMap.app.y }}"}},
        {"key": "b", "valueFrom": {"secret": {"name": "db", "key": "password"}}},
    ]);
    let mut export = ConfigExport::new("e", resolve::tests::spec("Secret", entries));
    export.metadata.namespace = Some("ns".into());
    let edges = Parsed::of(&export).edges;
    let needs = [
        ObjectRef::new(Class::ConfigMap, "ns", "app"),
        ObjectRef::new(Class::Secret, "ns", "db"),
        ObjectRef::state("ns", "ec2instance", "web"),
    ];
    assert_eq!(edges.needs, needs.into());
    assert_eq!(edges.provides, Some(ObjectRef::new(Class::Secret, "ns", "app")));
    export.spec.rotate = true;
    assert_eq!(Parsed::of(&export).edges.provides, None, "a target of each content has its own name");
}

#[test]
fn references_are_parsed_once_per_spec_and_per_resolution() {
    let entries =
        json!([{"key": "a", "valueFrom": {"templateString": "{{ .VPC.main }}{{ .ConfigMap.app.y }}"}}]);
    let mut export = ConfigExport::new("e", resolve::tests::spec("ConfigMap", entries));
    export.metadata.namespace = Some("ns".into());
    export.metadata.generation = Some(1);
    let router = crate::watch::event_router::EventRouter::new(Arc::default(), 1);
    let parses = |run: &dyn Fn()| {
        let before = PARSED.with(std::cell::Cell::get);
        run();
        PARSED.with(std::cell::Cell::get) - before
    };
    let parse = || drop(router.parsed(&export));
    assert_eq!((parses(&parse), parses(&parse)), (1, 0));
    let parsed = router.parsed(&export);
    let one_resolution =
        || drop(resolve_content("ns", &export.spec, &parsed.secret_entries, &Values::default()));
    assert_eq!(parses(&one_resolution), 1);
    assert!(parsed.is_of(&export));
    export.metadata.generation = Some(2);
    assert!(!parsed.is_of(&export));
}

#[test]
fn an_edit_after_a_restored_backup_is_parsed_although_its_generation_was_used_before() {
    let export = |config_type, entries| {
        let mut export = ConfigExport::new("e", resolve::tests::spec(config_type, entries));
        export.metadata.namespace = Some("ns".into());
        export.metadata.uid = Some("u".into());
        export.metadata.generation = Some(2);
        export
    };
    let secret = || json!({"templateString": "{{ .Secret.db.password }}"});
    let lost = export("Secret", json!([{"key": "a", "value": "x"}, {"key": "b", "valueFrom": secret()}]));
    let now = export("ConfigMap", json!([{"key": "a", "valueFrom": secret()}]));
    let router = crate::watch::event_router::EventRouter::new(Arc::default(), 1);
    assert_eq!(router.parsed(&lost).secret_entries, [1].into());
    let parsed = router.parsed(&now);
    assert_eq!(parsed.secret_entries, [0].into());
    assert_eq!(parsed.edges.provides, Some(ObjectRef::new(Class::ConfigMap, "ns", "app")));
    let resolved = resolve_content("ns", &now.spec, &parsed.secret_entries, &Values::default());
    assert!(
        matches!(resolved.state, ContentState::Invalid(_)),
        "a Secret's value is not exported to a ConfigMap"
    );
}
