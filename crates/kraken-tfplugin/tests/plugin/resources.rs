//! The life of an object.

use kraken_tfplugin::{Action, CallError, ResourceState, SENSITIVE, Value};
use serde_json::json;

use crate::ktest::{BOTH, FILE, Ktest, paths};

#[tokio::test]
async fn an_object_is_created_changed_replaced_and_deleted() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = json!({"name": "web", "description": "a", "secret": "hidden", "labels": {"team": "x"}});
        assert_eq!(ktest.plugin.validate(FILE, &ktest.config(&config)).await, Ok(vec![]));

        let plan = ktest.plan(&ResourceState::default(), &config).await;
        assert_eq!((plan.action(), plan.requires_replace.len()), (Action::Create, 0));
        assert_eq!(
            paths(&plan),
            ["description", "fingerprint", "id", "labels", "name", "revision", "secret", "size"]
        );
        let secret = &plan.differences[6];
        assert!(secret.is_sensitive && secret.before.is_null() && secret.after == SENSITIVE, "{secret:?}");
        assert!(plan.differences[2].is_unknown, "{plan:?}");
        assert!(!format!("{plan:?}").contains("hidden"), "{plan:?}");

        let applied = ktest.apply(plan).await;
        let state = applied.state;
        assert_eq!((applied.diagnostics, state.private.as_slice()), (vec![], &b"planned-applied"[..]));
        assert_eq!(
            (state.value.attribute("size"), state.value.attribute("revision")),
            (&10.into(), &1.into())
        );

        let read = ktest.plugin.read(FILE, &state).await.unwrap().value;
        assert_eq!((&read.value, &read.private), (&state.value, &state.private));
        let plan = ktest.plan(&read, &config).await;
        assert_eq!((plan.action(), plan.differences), (Action::None, vec![]));

        let config = json!({"name": "web", "description": "b", "labels": {"team": "y"}, "size": 10});
        let plan = ktest.plan(&read, &config).await;
        assert_eq!(plan.action(), Action::Update);
        assert_eq!(paths(&plan), ["description", "fingerprint", r#"labels["team"]"#, "revision", "secret"]);
        let state = ktest.apply(plan).await.state;
        assert_eq!(state.value.attribute("revision"), &2.into());

        // The provider lists the size, too, which is the same.
        let plan =
            ktest.plan(&state, &json!({"name": "other", "description": "b", "labels": {"team": "y"}})).await;
        assert_eq!(plan.action(), Action::Replace);
        assert_eq!(plan.requires_replace.iter().map(ToString::to_string).collect::<Vec<_>>(), ["name"]);

        let plan = ktest.plugin.plan(FILE, &state, &Value::Null).await.unwrap();
        assert_eq!(plan.action(), Action::Delete);
        let applied = ktest.apply(plan).await;
        assert!(!applied.is_failed() && !applied.state.exists());
        assert_eq!(ktest.objects(), 0);
        assert!(!ktest.plugin.read(FILE, &state).await.unwrap().value.exists());
    }
}

#[tokio::test]
async fn drift_is_a_difference_of_a_plan() {
    let ktest = Ktest::start(BOTH[0]).await;
    let config = json!({"name": "web", "description": "a"});
    let state = ktest.create(&config).await;
    ktest.change_out_of_band("description", &json!("changed"));
    // Computed and not configured: what is observed is what is desired.
    ktest.change_out_of_band("size", &json!(99));
    let read = ktest.plugin.read(FILE, &state).await.unwrap().value;
    let plan = ktest.plan(&read, &config).await;
    assert_eq!(paths(&plan), ["description", "revision"]);
    assert_eq!((&plan.differences[0].before, &plan.differences[0].after), (&json!("changed"), &json!("a")));
    let read = ktest.make(&read, &config).await;
    assert_eq!(ktest.plan(&read, &config).await.action(), Action::None);
    assert_eq!(read.value.attribute("size"), &99.into());
}

#[tokio::test]
async fn an_object_is_imported_by_its_id() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = json!({"name": "web", "rule": [{"port": 80}]});
        let state = ktest.create(&config).await;
        let id = state.value.attribute("id").as_str().unwrap();
        let imported = ktest.plugin.import(FILE, id).await.unwrap().value;
        assert_eq!(imported.private, b"imported");
        let read = ktest.plugin.read(FILE, &imported).await.unwrap().value;
        assert_eq!(read.value, state.value);
        assert_eq!(ktest.plan(&read, &config).await.action(), Action::None);

        let imported = ktest.plugin.import(FILE, "unknown").await.unwrap().value;
        assert!(!ktest.plugin.read(FILE, &imported).await.unwrap().value.exists());
    }
}

#[tokio::test]
async fn a_data_source_finds_one_object() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let created = ktest.create(&json!({"name": "web", "description": "x [kraken 0123]"})).await;
        ktest.create(&json!({"name": "web"})).await;
        let of = &ktest.plugin.schema().data_sources[FILE].value_type;
        let search = |config| Value::from_config(&config, of).unwrap();
        let found =
            ktest.plugin.read_data_source(FILE, &search(json!({"description": "x [kraken 0123]"}))).await;
        assert_eq!(found.unwrap().value.attribute("id"), created.value.attribute("id"));
        for (config, error) in [
            (json!({"name": "web"}), "expected one file: 2 match"),
            (json!({"name": "other"}), "the query returned no file: 0 match"),
        ] {
            let failure = ktest.plugin.read_data_source(FILE, &search(config)).await.unwrap_err();
            assert_eq!(failure.to_string(), error);
        }
    }
}

#[tokio::test]
async fn a_stored_state_is_upgraded_and_a_newer_one_is_refused() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = json!({"name": "web", "anything": {"a": 1}});
        let state = ktest.create(&config).await;
        let stored = state.value.to_json().unwrap();
        let upgraded = ktest.plugin.upgrade(FILE, 1, &stored).await.unwrap().value;
        assert_eq!(upgraded, state.value);

        let upgraded =
            ktest.plugin.upgrade(FILE, 0, &json!({"id": "a", "title": "web"})).await.unwrap().value;
        assert_eq!(upgraded.attribute("name"), &"web".into());
        let error = ktest.plugin.upgrade(FILE, 2, &stored).await.unwrap_err();
        assert_eq!(error, CallError::NewerState { stored: 2, known: 1 });
    }
}

#[tokio::test]
async fn errors_name_the_attribute_or_the_type() {
    let ktest = Ktest::start(BOTH[1]).await;
    let error = ktest.plugin.validate(FILE, &ktest.config(&json!({"name": ""}))).await.unwrap_err();
    assert_eq!(error.to_string(), "name: Missing name: A file has a name.");
    assert!(matches!(&error, CallError::Provider(diagnostics) if diagnostics[0].is_error()));
    let unknown = ktest.plugin.read("ktest_other", &ResourceState::default()).await.unwrap_err();
    assert_eq!(unknown, CallError::UnknownType("ktest_other".to_owned()));
    let invalid = Value::object([("name", 5.into())]);
    let error = ktest.plugin.validate(FILE, &invalid).await.unwrap_err();
    assert_eq!(error.to_string(), "configuration: name: expected string, got number");
}

#[tokio::test]
async fn a_configuration_that_the_schema_does_not_permit_is_rejected_with_all_errors() {
    let ktest = Ktest::start(BOTH[1]).await;
    let config = json!({
        "id": "mine", "rule": vec![json!({"port": 80}); 9], "disk": [{"size": 1}],
        "endpoints": [{"host": "a"}, {"host": null, "address": "b"}],
    });
    let error = ktest.plugin.validate(FILE, &ktest.config(&config)).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "endpoints[1].address: cannot be set: Only the provider sets it.; endpoints[1].host: is required; \
         id: cannot be set: Only the provider sets it.; name: is required; disk.name: is required; \
         rule: has too many blocks: Expected 8 or fewer, got 9."
    );
}

#[tokio::test]
async fn a_configuration_with_unknown_values_is_validated_and_planned() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        let config = Value::object([("name", Value::Unknown), ("labels", Value::Unknown)]);
        ktest.plugin.validate(FILE, &config).await.unwrap();
        let plan = ktest.plugin.plan(FILE, &ResourceState::default(), &config).await.unwrap();
        assert!(plan.differences.iter().filter(|found| found.is_unknown).count() >= 5, "{plan:?}");
    }
}
