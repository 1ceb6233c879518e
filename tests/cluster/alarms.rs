//! Alarms in moto, through their controller as its real binary.

use anyhow::Result;
use kraken_simulator::{FailureMode, FailurePoint};
use kraken_testing::{Environment, Shared};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

use crate::{
    balancing::{id, request_reconcile, until},
    services::{self, resource},
};

const TOPIC: &str = "arn:aws:sns:us-east-1:123456789012:ops";

async fn test_env() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    services::start(&SHARED, &["aws-cloudwatch"]).await
}

/// A call of moto's CloudWatch.
async fn cloudwatch(test_env: &TestEnv, action: &str, body: &Value) -> Result<Value> {
    test_env
        .env
        .moto
        .json("monitoring", "1.0", &format!("GraniteServiceVersion20100801.{action}"), body)
        .await
}

/// The alarms with this name, or with a name that begins with it.
async fn described(test_env: &TestEnv, prefix: &str) -> Result<Vec<Value>> {
    let found = cloudwatch(test_env, "DescribeAlarms", &json!({"AlarmNamePrefix": prefix})).await?;
    Ok(found["MetricAlarms"].as_array().cloned().unwrap_or_default())
}

async fn tags(test_env: &TestEnv, alarm: &Value) -> Result<Vec<Value>> {
    let body = json!({"ResourceARN": alarm["AlarmArn"]});
    let answer = cloudwatch(test_env, "ListTagsForResource", &body).await?;
    Ok(answer["Tags"].as_array().cloned().unwrap_or_default())
}

/// An object with these fields, too.
fn with(mut object: Value, more: &Value) -> Value {
    for (name, value) in more.as_object().into_iter().flatten() {
        object[name] = value.clone();
    }
    object
}

/// The spec of an alarm, with `more` in it.
fn spec(more: &Value) -> Value {
    let spec = json!({
        "namespace": {"value": "AWS/EC2"}, "metricName": {"value": "CPUUtilization"}, "statistic": {"value": "Average"},
        "periodSeconds": {"value": 300}, "evaluationPeriods": {"value": 3}, "threshold": {"value": 80},
        "comparisonOperator": {"value": "GreaterThanThreshold"},
    });
    with(spec, more)
}

/// The fields of a call that creates or replaces the alarm with this name.
fn call(name: &Value, more: &Value) -> Value {
    let call = json!({
        "AlarmName": name, "Namespace": "AWS/EC2", "MetricName": "CPUUtilization", "Statistic": "Average", "Period": 300,
        "EvaluationPeriods": 3, "Threshold": 80, "ComparisonOperator": "GreaterThanThreshold",
    });
    with(call, more)
}

#[tokio::test]
async fn an_alarm_is_created_corrected_and_deleted() -> Result<()> {
    let test_env = test_env().await?;
    let prefix = format!("cpu/{}", test_env.ns.name);
    let more = json!({
        "namePrefix": {"value": prefix}, "description": {"value": "see the runbook"}, "datapointsToAlarm": {"value": 2},
        "dimensions": [{"name": {"value": "InstanceId"}, "value": {"value": "i-1"}}],
        "treatMissingData": {"value": "notBreaching"}, "alarmActions": {"value": [TOPIC]},
        "tags": {"Team": "shop"},
    });
    test_env.apply(&resource("Alarm", "cpu", &spec(&more))).await?;
    let name = id(&test_env.ready("Alarm", "cpu").await?)?.to_owned();
    assert!(name.starts_with(&format!("{prefix}-kraken-")), "{name}");
    let alarm = || async { anyhow::Ok(described(&test_env, &prefix).await?.pop().unwrap_or_default()) };
    let found = alarm().await?;
    assert_eq!(found["Dimensions"], json!([{"Name": "InstanceId", "Value": "i-1"}]), "{found}");
    assert_eq!((&found["Threshold"], &found["DatapointsToAlarm"]), (&json!(80.0), &json!(2)), "{found}");
    assert_eq!(
        (&found["TreatMissingData"], &found["AlarmActions"]),
        (&json!("notBreaching"), &json!([TOPIC]))
    );
    assert!(tags(&test_env, &found).await?.contains(&json!({"Key": "Team", "Value": "shop"})));
    let state = test_env.get("StateDeclaration", "alarm.aws.cpu").await?;
    assert_eq!(state["spec"]["data"]["alarm"]["AlarmArn"], found["AlarmArn"], "{state}");

    // Somebody replaces it by hand, with another threshold and without its actions.
    let other = call(&json!(name), &json!({"Threshold": 99, "TreatMissingData": "ignore"}));
    cloudwatch(&test_env, "PutMetricAlarm", &other).await?;
    request_reconcile(&test_env, "Alarm", "cpu", "1").await?;
    until(|| async { Ok(alarm().await?["Threshold"] == 80.0) }).await?;
    let found = alarm().await?;
    assert_eq!(
        (&found["AlarmActions"], &found["TreatMissingData"]),
        (&json!([TOPIC]), &json!("notBreaching"))
    );

    let edit = json!({"spec": {
        "statistic": {"value": "p99"}, "threshold": {"value": 0.5}, "alarmActions": {"value": []},
    }});
    test_env.patch("Alarm", "cpu", edit).await?;
    until(|| async { Ok(alarm().await?["ExtendedStatistic"] == "p99") }).await?;
    let found = alarm().await?;
    assert_eq!((&found["Threshold"], &found["AlarmActions"]), (&json!(0.5), &json!([])), "{found}");
    assert_eq!(described(&test_env, &prefix).await?.len(), 1);

    test_env.delete("Alarm", "cpu").await?;
    test_env.gone("Alarm", "cpu").await?;
    assert!(described(&test_env, &prefix).await?.is_empty());
    Ok(())
}

#[tokio::test]
async fn a_creation_without_a_response_is_found_and_not_repeated() -> Result<()> {
    let test_env = test_env().await?;
    test_env.env.proxy.fail_next("PutMetricAlarm", FailurePoint::After, FailureMode::Drop);
    let prefix = format!("once-{}", test_env.ns.name);
    let more = json!({"namePrefix": {"value": prefix}});
    test_env.apply(&resource("Alarm", "once", &spec(&more))).await?;
    let name = id(&test_env.ready("Alarm", "once").await?)?.to_owned();
    assert_eq!(test_env.env.proxy.pending_failures(), 0);
    let found = described(&test_env, &prefix).await?;
    assert_eq!(found.iter().map(|alarm| alarm["AlarmName"].clone()).collect::<Vec<_>>(), [json!(name)]);
    test_env.delete("Alarm", "once").await?;
    test_env.gone("Alarm", "once").await?;
    assert!(described(&test_env, &prefix).await?.is_empty());
    Ok(())
}

/// AWS replaces an alarm with the same name, whoever created it.
#[tokio::test]
async fn an_alarm_of_another_client_is_not_replaced_and_is_adopted_on_request() -> Result<()> {
    let test_env = test_env().await?;
    let name = format!("theirs-{}", test_env.ns.name);
    let theirs =
        call(&json!(name), &json!({"Threshold": 10, "TreatMissingData": "breaching", "OKActions": [TOPIC]}));
    cloudwatch(&test_env, "PutMetricAlarm", &theirs).await?;
    let of_name =
        |all: &[Value]| all.iter().find(|alarm| alarm["AlarmName"] == *name).cloned().unwrap_or_default();

    let more = json!({"namePrefix": {"value": name}});
    test_env.apply(&resource("Alarm", "own", &spec(&more))).await?;
    test_env.ready("Alarm", "own").await?;
    let all = described(&test_env, &name).await?;
    assert_eq!((all.len(), &of_name(&all)["Threshold"]), (2, &json!(10.0)), "{all:?}");
    test_env.delete("Alarm", "own").await?;
    test_env.gone("Alarm", "own").await?;

    // What the spec does not have stays as it was.
    let adopted = spec(&json!({"namePrefix": {"value": name}, "lifecycle": {"adopt": {"id": name}}}));
    test_env.apply(&resource("Alarm", "adopted", &adopted)).await?;
    let why = test_env.not_ready("Alarm", "adopted", "AwaitingApproval").await?;
    assert!(why.contains("change spec.threshold from *** to 80"), "{why}");
    let plan = test_env.get("Alarm", "adopted").await?["status"]["plan"]["hash"].clone();
    let approved = json!({"kraken-iac.eoinfennessy.com/approved-plan": plan});
    test_env.patch("Alarm", "adopted", json!({"metadata": {"annotations": approved}})).await?;
    assert_eq!(id(&test_env.ready("Alarm", "adopted").await?)?, name);
    let found = of_name(&described(&test_env, &name).await?);
    assert_eq!(
        (&found["Threshold"], &found["TreatMissingData"]),
        (&json!(80.0), &json!("breaching")),
        "{found}"
    );
    assert_eq!(found["OKActions"], json!([TOPIC]), "{found}");
    test_env.delete("Alarm", "adopted").await?;
    test_env.gone("Alarm", "adopted").await?;
    let all = described(&test_env, &name).await?;
    assert_eq!(all.len(), 1);
    assert!(tags(&test_env, &all[0]).await?.is_empty());
    Ok(())
}
