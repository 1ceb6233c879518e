use super::*;
use crate::Path;
use serde_json::json;

fn data() -> Value {
    json!({
        "instances": [
            {"InstanceId": "i-1", "State": {"Name": "running"}, "PublicIp": null, "Tags": []},
            {"InstanceId": "i-2", "State": {"Name": "stopped"}},
        ],
        "annotations": {"x.io/y": {"z": 1}, "0": "zero"},
        "count": 2,
    })
}

fn find(path: &str) -> Result<Value, String> {
    Path::parse(path).expect(path).find(&data()).map_err(|e| e.to_string())
}

fn misses(path: &str, because: &str) {
    let error = Path::parse(path).expect(path).find(&data()).expect_err(path);
    assert_eq!(error.to_string(), format!("path {path}: {because}"));
    assert!(error.is_missing());
}

#[test]
fn a_dotted_path_leads_to_a_value() {
    assert_eq!(find("instances.1.InstanceId"), Ok(json!("i-2")));
    assert_eq!(find(r#"annotations["x.io/y"].z"#), Ok(json!(1)));
    assert_eq!(find("instances[0].State"), Ok(json!({"Name": "running"})));
}

#[test]
fn digits_are_an_index_of_a_list_and_a_key_of_an_object() {
    assert_eq!(find("annotations.0"), Ok(json!("zero")));
    assert_eq!(find("instances.0.InstanceId"), Ok(json!("i-1")));
    misses("instances.00", "\"instances\" has 2 items");
}

#[test]
fn a_singular_jsonpath_leads_to_its_one_value() {
    assert_eq!(find("$.instances[0].InstanceId"), Ok(json!("i-1")));
    assert_eq!(find("$.instances[-1]['InstanceId']"), Ok(json!("i-2")));
    assert_eq!(find("$"), Ok(data()));
}

#[test]
fn any_other_jsonpath_yields_a_list() {
    assert_eq!(find("$.instances[*].InstanceId"), Ok(json!(["i-1", "i-2"])));
    assert_eq!(find("$..Name"), Ok(json!(["running", "stopped"])));
    assert_eq!(find("$.instances[?@.State.Name == 'stopped'].InstanceId"), Ok(json!(["i-2"])));
    assert_eq!(find("$.nothing[*]"), Ok(json!([])));
}

#[test]
fn an_error_names_the_first_missing_segment() {
    misses("instances.5.VpcId", "\"instances\" has 2 items");
    misses("instances.0.Tags.0", "\"instances.0.Tags\" has 0 items");
    misses("instances.1.VpcId", "\"VpcId\" not found in \"instances.1\" (it has: InstanceId, State)");
    misses("instances.VpcId", "\"VpcId\" is not an index, and \"instances\" is a list of 2 items");
    misses("count.x", "\"x\" not found: \"count\" is a number");
    misses("instances.0.InstanceId.x", "\"x\" not found: \"instances.0.InstanceId\" is a string");
    misses("x", "\"x\" not found in the state (it has: annotations, count, instances)");
    misses("$.annotations[0]", "0 not found: \"annotations\" is an object");
    misses("$.instances[-3]", "\"instances\" has 2 items");
    misses(r#"annotations["x.io/y"].a"#, "\"a\" not found in \"annotations[\"x.io/y\"]\" (it has: z)");
}

#[test]
fn a_null_counts_as_missing() {
    misses("instances.0.PublicIp", "\"instances.0.PublicIp\" is null");
    misses("instances.0.PublicIp.x", "\"instances.0.PublicIp\" is null");
}

#[test]
fn an_error_lists_few_keys_and_no_values() {
    let members = (0..100).map(|n| (format!("{n}{}", "k".repeat(100)), json!("hidden"))).collect();
    let error = Path::parse("x").unwrap().find(&Value::Object(members)).unwrap_err().to_string();
    assert!(error.len() < 500 && error.ends_with(", …)"), "{error}");
    assert!(!error.contains("hidden"));
}

#[test]
fn an_empty_object_is_reported_as_empty() {
    let error = Path::parse("x").unwrap().find(&json!({})).unwrap_err();
    assert_eq!(error.to_string(), "path x: \"x\" not found in the state (it is empty)");
}

#[test]
fn a_deep_value_is_crossed_but_not_returned() {
    let mut deep = json!({"end": 1});
    for _ in 0..500 {
        deep = json!({"a": deep});
    }
    let reason = |path: &str| Path::parse(path).unwrap().find(&deep).map_err(|e| e.reason);
    assert_eq!(reason(&format!("{}end", "a.".repeat(500))), Ok(json!(1)));
    assert_eq!(reason("a"), Err(LookupReason::TooDeep));
    assert_eq!(reason("$..end"), Ok(json!([1])));
    assert_eq!(reason("$..*"), Err(LookupReason::TooDeep));
}

#[test]
fn matches_steps_and_bytes_are_bounded() {
    let reason = |path: &str, data: &Value| Path::parse(path).unwrap().find(data).unwrap_err().reason;
    let list = json!(vec![0; 1001]);
    assert_eq!(reason("$[*]", &list), LookupReason::TooManyMatches);
    let long = json!({"a": "x".repeat(600_000)});
    assert_eq!(reason("$['a','a']", &long), LookupReason::TooLarge);
    assert_eq!(reason("$[?count($[?count($[*]) > 1]) > 1]", &list), LookupReason::TooManySteps);
    let doubling = format!("${}", "[0,0,0,0]".repeat(100));
    let nested = (0..100).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(reason(&doubling, &nested), LookupReason::TooManySteps);
}
