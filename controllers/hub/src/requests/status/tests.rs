use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kraken_options::KeyRef;
use serde_json::json;

use super::*;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).unwrap()
}

fn request(generation: i64, status: Option<DependencyRequestStatus>) -> DependencyRequest {
    let mut request = DependencyRequest::new("widget-a", kraken_api::DependencyRequestSpec::default());
    request.metadata.generation = Some(generation);
    request.status = status;
    request
}

fn found(text: &str) -> Answer {
    let mut answer = Answer::default();
    answer.values.from_config_maps.entry("sizes".into()).or_default().insert("small".into(), text.into());
    answer
}

fn unmet(name: &str, reason: Reason) -> Unmet {
    let key = KeyRef { name: name.into(), key: "small".into() };
    Unmet::new(&Dependency::ConfigMap(key), reason, format!("ConfigMap {name} is invalid"))
}

fn lacking(unmet: Vec<Unmet>) -> Answer {
    Answer { unmet, ..Answer::default() }
}

fn written(next: Next) -> DependencyRequestStatus {
    match next {
        Next::Write(status) => *status,
        other => panic!("{other:?}"),
    }
}

fn ready(status: &DependencyRequestStatus) -> &Condition {
    conditions::get(&status.conditions, READY).unwrap()
}

#[test]
fn an_answer_is_written_once() {
    let status = written(next(&request(1, None), found("a"), false, at(1)));
    assert_eq!((ready(&status).status.as_str(), ready(&status).reason.as_str()), ("True", "Resolved"));
    assert_eq!(ready(&status).message, "The only dependency has a value.");
    assert_eq!(status.observed_generation, Some(1));
    assert_eq!(next(&request(1, Some(status)), found("a"), false, at(2)), Next::Nothing);
}

#[test]
fn a_changed_value_is_written_without_changing_the_transition_time() {
    let first = written(next(&request(1, None), found("a"), false, at(1)));
    let second = written(next(&request(1, Some(first.clone())), found("b"), false, at(2)));
    assert_eq!(ready(&first).last_transition_time, ready(&second).last_transition_time);
}

#[test]
fn the_default_status_is_not_an_answer() {
    let default = json!({"conditions": [{"type": "Ready", "status": "Unknown", "reason": "Pending", "message": "x",
            "lastTransitionTime": "1970-01-01T00:00:00Z"}]});
    let default: DependencyRequestStatus = serde_json::from_value(default).unwrap();
    let request = request(1, Some(default));
    let status = written(next(&request, lacking(vec![unmet("sizes", Reason::ReadFailed)]), true, at(5)));
    assert_eq!(ready(&status).reason, "ReadFailed");
    assert_eq!(ready(&status).last_transition_time.0, at(5));
}

#[test]
fn an_answer_of_this_generation_is_kept_after_a_failed_read() {
    let status = written(next(&request(1, None), found("a"), false, at(1)));
    let failed = || lacking(vec![unmet("sizes", Reason::ReadFailed)]);
    assert_eq!(next(&request(1, Some(status.clone())), failed(), true, at(2)), Next::Keep);
    assert!(matches!(next(&request(2, Some(status)), failed(), true, at(2)), Next::Write(_)));
}

#[test]
fn a_common_reason_is_used_and_several_are_unmet() {
    let same = vec![unmet("a", Reason::ConfigMapNotFound), unmet("b", Reason::ConfigMapNotFound)];
    let status = written(next(&request(1, None), lacking(same), false, at(1)));
    assert_eq!(ready(&status).reason, "ConfigMapNotFound");
    assert_eq!(ready(&status).message, "ConfigMap a is invalid; ConfigMap b is invalid");
    let mixed = vec![unmet("a", Reason::ConfigMapNotFound), unmet("b", Reason::KeyNotFound)];
    let status = written(next(&request(1, None), lacking(mixed), false, at(1)));
    assert_eq!((ready(&status).reason.as_str(), status.unmet.len()), ("Unmet", 2));
}

#[test]
fn the_message_is_bounded_and_the_list_is_complete() {
    let many = (0..1000).map(|n| unmet(&n.to_string().repeat(50), Reason::KeyNotFound)).collect();
    let status = written(next(&request(1, None), lacking(many), false, at(1)));
    assert_eq!(status.unmet.len(), 1000);
    assert!(ready(&status).message.ends_with("; and 994 more"), "{}", ready(&status).message);
    assert!(ready(&status).message.len() < 2048);
}

#[test]
fn conditions_of_others_are_preserved() {
    let mut before = written(next(&request(1, None), found("a"), false, at(1)));
    conditions::set(&mut before.conditions, "Theirs", State::True, "X", "", None, at(1));
    assert_eq!(next(&request(1, Some(before.clone())), found("a"), false, at(2)), Next::Nothing);
    let status = written(next(&request(2, Some(before)), found("a"), false, at(2)));
    assert_eq!(status.conditions.len(), 1);
}

#[test]
fn a_rejected_status_is_reduced_and_names_the_large_values() {
    let mut answer = found(&"x".repeat(SMALL + 1));
    let resources = &mut answer.values.from_kraken_resources;
    let paths = resources.entry("widget".into()).or_default().entry("a".into()).or_default();
    paths.insert("big".into(), json!("y".repeat(SMALL)));
    paths.insert("small".into(), json!(1));
    let status = without_large_values(written(next(&request(1, None), answer, false, at(1))));
    assert_eq!(status.unmet.len(), 2);
    assert_eq!((ready(&status).status.as_str(), ready(&status).reason.as_str()), ("False", "ValueTooLarge"));
    let kept = serde_json::to_value(&status.dependent_values).unwrap();
    assert_eq!(kept, json!({"fromKrakenResources": {"widget": {"a": {"small": 1}}}}));
}

/// The answer with one version of a Secret.
fn secret(uid: &str, resource_version: &str, digest: &str) -> Answer {
    let version =
        SecretVersion { uid: uid.into(), resource_version: resource_version.into(), digest: digest.into() };
    let mut answer = Answer::default();
    answer.values.from_secrets.entry("db".into()).or_default().insert("password".into(), version);
    answer
}

#[test]
fn a_version_of_a_secret_is_kept_while_the_value_is_the_same() {
    let first = written(next(&request(1, None), secret("u", "5", "k.a"), false, at(1)));
    let answered = request(1, Some(first));
    assert_eq!(next(&answered, secret("u", "5", "k.a"), false, at(2)), Next::Nothing);
    assert_eq!(
        next(&answered, secret("u", "7", "k.a"), false, at(2)),
        Next::Nothing,
        "a label, and a restart"
    );
    assert_eq!(next(&answered, secret("v", "8", "k.a"), false, at(2)), Next::Nothing, "created again");
    let second = written(next(&answered, secret("u", "9", "k.b"), false, at(2)));
    assert_eq!(second.dependent_values, secret("u", "9", "k.b").values, "another value");
}

#[test]
fn a_version_without_a_comparable_digest_is_kept_and_gets_one() {
    for former in ["", "old.a"] {
        let first = written(next(&request(1, None), secret("u", "5", former), false, at(1)));
        let second = written(next(&request(1, Some(first)), secret("u", "7", "k.a"), false, at(2)));
        assert_eq!(second.dependent_values, secret("u", "5", "k.a").values, "{former}");
    }
    // A hub without a key knows versions only.
    let first = written(next(&request(1, None), secret("u", "5", ""), false, at(1)));
    let second = written(next(&request(1, Some(first)), secret("u", "7", ""), false, at(2)));
    assert_eq!(second.dependent_values, secret("u", "7", "").values);
}

#[test]
fn reference_that_had_a_value_is_noted_when_its_grant_is_withdrawn() {
    let refused = |name: &str| {
        let dependency = Dependency::Resource(kraken_options::ResourceRef::of("vpc", name, ""));
        Unmet::new(&dependency, Reason::RefNotPermitted, "no grant")
    };
    let mut granted = Answer::default();
    let names = granted.values.from_kraken_resources.entry("vpc".into()).or_default();
    names.entry("platform:main".into()).or_default().insert(String::new(), json!("vpc-1"));
    let granted = written(next(&request(1, None), granted, false, at(1)));
    let withdrawn = lacking(vec![refused("platform:main"), refused("platform:other")]);
    let after = written(next(&request(1, Some(granted)), withdrawn.clone(), false, at(2)));
    assert_eq!(after.dependent_values, DependentValues::default(), "no value survives");
    let noted = |status: &DependencyRequestStatus| -> Vec<bool> {
        status.unmet.iter().map(|unmet| unmet.withdrawn).collect()
    };
    assert_eq!(noted(&after), [true, false], "the other one was never permitted");
    let later = written(next(&request(2, Some(after)), withdrawn.clone(), false, at(3)));
    assert_eq!(noted(&later), [true, false], "it is noted for as long as it is refused");
    let never = written(next(&request(1, None), withdrawn, false, at(2)));
    assert_eq!(noted(&never), [false, false]);
}
