//! The dashboard and the alerts: every query is executed by Prometheus' engine on the metrics of the running controllers.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result};
use kraken_testing::packaging::kustomize;
use kraken_testing::paths;
use kraken_testing::prometheus::{Answer, Request, Response, Target, execute};
use kraken_tests::TestEnv;
use serde_json::{Value, json};

/// Metrics that have a value only after a failure.
const FAILURES: [&str; 6] = [
    "kraken_connections_closed_total",
    "kraken_launches_withheld_total",
    "kraken_orphans",
    "kraken_reconcile_errors_total",
    "kraken_reconcile_panics_total",
    "kraken_watch_errors_total",
];

/// A target as the ServiceMonitor scrapes it: its only relabeling sets `controller`.
fn target(controller: &str, text: String) -> Target {
    Target { labels: BTreeMap::from([("controller".to_owned(), controller.to_owned())]), text }
}

/// The metrics of every controller.
async fn scrape(test_env: &TestEnv) -> Result<Vec<Target>> {
    let mut targets = vec![];
    for controller in paths::controllers()? {
        let text = test_env.env.suite.controller(&controller)?.metrics().await?;
        targets.push(target(&format!("kraken-{controller}"), text));
    }
    Ok(targets)
}

/// A controller after failures, by the code that counts them.
fn failed() -> Target {
    let metrics = kraken_runtime::Metrics::new("kraken-test");
    metrics.reconcile_failed("VPC", "throttled");
    metrics.reconcile_panicked("VPC");
    metrics.orphans("VPC", 1);
    metrics.launch_withheld("VPC", "LaunchRefused");
    metrics.watch_failed("VPC");
    metrics.connection_closed("webhooks");
    target("kraken-test", metrics.encode())
}

struct Alert {
    name: String,
    expression: String,
    annotations: String,
}

struct Monitoring {
    /// The spec of the PrometheusRule, which is the format of a rules file.
    rules: String,
    alerts: Vec<Alert>,
    /// The expressions of the dashboard.
    panels: Vec<String>,
}

async fn monitoring() -> Result<Monitoring> {
    let config = paths::workspace_root()?.join("config");
    let documents = kustomize(&config.join("overlays/monitoring")).await?;
    let of = |kind: &str| {
        let found = documents.iter().find(|document| document.gvk.kind == kind);
        found.map(|document| document.value["spec"].clone()).with_context(|| format!("no {kind}"))
    };
    let labels = json!([{
        "sourceLabels": ["__meta_kubernetes_pod_label_app_kubernetes_io_name"], "targetLabel": "controller",
    }]);
    assert_eq!(of("ServiceMonitor")?["endpoints"][0]["relabelings"], labels, "as in the function target");
    // Otherwise Prometheus would rename the label namespace of the metrics.
    assert_eq!(of("ServiceMonitor")?["endpoints"][0]["honorLabels"], true);
    let spec = of("PrometheusRule")?;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let alerts = spec["groups"].as_array().into_iter().flatten().flat_map(|group| {
        let rules = group["rules"].as_array().into_iter().flatten();
        rules.map(|rule| Alert {
            name: text(&rule["alert"]),
            expression: text(&rule["expr"]),
            annotations: rule["annotations"].to_string(),
        })
    });
    let dashboard: Value =
        serde_json::from_str(&std::fs::read_to_string(config.join("components/monitoring/kraken.json"))?)?;
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let targets = panels.flat_map(|panel| panel["targets"].as_array().into_iter().flatten());
    Ok(Monitoring {
        // JSON is YAML.
        rules: spec.to_string(),
        alerts: alerts.collect(),
        panels: targets.map(|target| text(&target["expr"])).collect(),
    })
}

/// Every metric and label of a query exists.
fn check_names(answer: &Answer, response: &Response) -> Result<()> {
    let query = &answer.query;
    assert_eq!(answer.error, "", "{query}");
    assert!(!answer.selectors.is_empty(), "{query} reads no metric");
    let mut known = BTreeSet::new();
    for selector in &answer.selectors {
        let metric = &selector.metric;
        let labels = response.metrics.get(metric);
        let labels = labels.with_context(|| format!("{query}: no controller has {metric}"))?;
        for label in selector.labels.keys() {
            assert!(labels.contains(label), "{query}: {metric} has no label {label}: {labels:?}");
        }
        known.extend(labels.iter().cloned());
    }
    for label in &answer.grouping {
        assert!(known.contains(label), "{query}: no metric has the label {label}: {known:?}");
    }
    Ok(())
}

/// The names in `{{ $labels.name }}`.
fn labels_in(text: &str) -> BTreeSet<&str> {
    let names = text.split("$labels.").skip(1);
    names.filter_map(|rest| rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next()).collect()
}

/// Every name of a metric in a text.
fn metrics_in(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("kraken_")).collect()
}

#[tokio::test]
async fn every_query_of_dashboard_and_alerts_runs_on_the_metrics_of_the_controllers() -> Result<()> {
    let test_env = TestEnv::new().await?;
    test_env
        .apply("{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: main}, spec: {cidrBlock: {value: 10.0.0.0/16}}}")
        .await?;
    test_env.ready("VPC", "main").await?;
    let Monitoring { rules, alerts, panels } = monitoring().await?;
    assert!(!alerts.is_empty() && !panels.is_empty());
    let mut queries = panels.clone();
    queries.extend(alerts.iter().map(|alert| alert.expression.clone()));
    let (first, second) = (scrape(&test_env).await?, scrape(&test_env).await?);
    let real = Request { scrapes: vec![first.clone(), second.clone()], ..Request::default() };
    let served = execute(&real).await?.metrics;
    let with_failures = |mut targets: Vec<Target>| {
        targets.push(failed());
        targets
    };
    let scrapes = vec![with_failures(first), with_failures(second)];
    let response = execute(&Request { scrapes, queries, rules }).await?;
    assert_eq!(response.rule_problems, Vec::<String>::new());

    let mut queried = BTreeSet::new();
    for answer in &response.answers {
        check_names(answer, &response)?;
        queried.extend(answer.selectors.iter().map(|selector| selector.metric.as_str()));
    }
    for metric in queried {
        assert!(
            served.contains_key(metric) || FAILURES.contains(&metric),
            "no running controller has {metric}"
        );
    }
    let documented = std::fs::read_to_string(paths::workspace_root()?.join("docs/operations.md"))?;
    for metric in metrics_in(&documented) {
        let exists = [metric.to_owned(), format!("{metric}_bucket")]
            .iter()
            .any(|name| response.metrics.contains_key(name));
        assert!(exists, "docs/operations.md: no controller has {metric}");
    }
    let (of_panels, of_alerts) = response.answers.split_at(panels.len());
    for answer in of_panels {
        // All resources of other tests may be ready.
        let is_empty_when_all_is_well = answer.query.contains("ready!=");
        assert!(answer.series > 0 || is_empty_when_all_is_well, "{} has no result", answer.query);
    }
    for (alert, answer) in alerts.iter().zip(of_alerts) {
        let by_aggregation = answer.grouping.iter().map(String::as_str);
        let by_metric = answer.selectors.iter().flat_map(|selector| &response.metrics[&selector.metric]);
        let kept: BTreeSet<&str> = if answer.grouping.is_empty() {
            by_metric.map(String::as_str).collect()
        } else {
            by_aggregation.collect()
        };
        for label in labels_in(&alert.annotations) {
            assert!(kept.contains(label), "{}: the result has no label {label}: {kept:?}", alert.name);
        }
    }
    Ok(())
}

#[tokio::test]
async fn alerts_fire_when_they_should_and_not_in_steady_state() -> Result<()> {
    let alerts = monitoring().await?.alerts;
    let steady = "# TYPE kraken_leader gauge\nkraken_leader{lease=\"kraken-hub\"} 1\n# TYPE kraken_resources gauge\n\
                  kraken_resources{kind=\"VPC\",ready=\"True\",reason=\"Available\"} 3\n\
                  # TYPE kraken_longest_unready_seconds gauge\nkraken_longest_unready_seconds{kind=\"VPC\"} 0\n\
                  # TYPE kraken_cloud_calls counter\nkraken_cloud_calls_total{operation=\"A\",result=\"ok\"} 100\n\
                  kraken_cloud_calls_total{operation=\"A\",result=\"throttled\"} 0\n\
                  # TYPE kraken_reconcile_panics counter\nkraken_reconcile_panics_total{kind=\"VPC\"} 0\n\
                  # TYPE kraken_watch_errors counter\nkraken_watch_errors_total{kind=\"VPC\"} 0\n\
                  # TYPE kraken_resources_drifted gauge\nkraken_resources_drifted{kind=\"VPC\"} 0\n\
                  # TYPE kraken_connections_closed counter\nkraken_connections_closed_total{port=\"health\"} 0\n\
                  # TYPE kraken_orphans gauge\nkraken_orphans{kind=\"VPC\"} 0\n# EOF\n";
    let unready = |reason: &str| {
        format!(
            "kraken_resources{{kind=\"VPC\",ready=\"False\",reason=\"{reason}\"}} 1\n# TYPE kraken_longest"
        )
    };
    let failures = |name: &str| -> (&'static str, String) {
        match name {
            "KrakenControllerWithoutLeader" => {
                ("lease=\"kraken-hub\"} 1", "lease=\"kraken-hub\"} 0".to_owned())
            }
            // The other of two controllers is not scraped any more.
            "KrakenControllerDown" => ("kraken_leader{lease=\"kraken-hub\"} 1\n", String::new()),
            "KrakenDrift" => ("drifted{kind=\"VPC\"} 0", "drifted{kind=\"VPC\"} 1".to_owned()),
            "KrakenConnectionsClosed" => {
                ("closed_total{port=\"health\"} 0", "closed_total{port=\"health\"} 1".to_owned())
            }
            "KrakenLaunchesWithheld" => ("# TYPE kraken_longest", unready("LaunchRefused")),
            "KrakenCredentials" => ("# TYPE kraken_longest", unready("CredentialsMissing")),
            "KrakenResourceStalled" => ("# TYPE kraken_longest", unready("InvalidSpec")),
            "KrakenHubSilent" => ("# TYPE kraken_longest", unready("WaitingForHub")),
            "KrakenResourceUnready" => ("seconds{kind=\"VPC\"} 0", "seconds{kind=\"VPC\"} 3601".to_owned()),
            "KrakenThrottled" => ("\"throttled\"} 0", "\"throttled\"} 90".to_owned()),
            "KrakenReconcilePanics" => {
                ("panics_total{kind=\"VPC\"} 0", "panics_total{kind=\"VPC\"} 1".to_owned())
            }
            "KrakenWatchFailing" => {
                ("errors_total{kind=\"VPC\"} 0", "errors_total{kind=\"VPC\"} 20".to_owned())
            }
            "KrakenOrphans" => ("orphans{kind=\"VPC\"} 0", "orphans{kind=\"VPC\"} 1".to_owned()),
            other => panic!("the alert {other} has no test"),
        }
    };
    for alert in &alerts {
        let (from, to) = failures(&alert.name);
        assert_eq!(steady.matches(from).count(), 1, "{from}");
        let of = |name| target(name, steady.replace("kraken-hub", name));
        let both = || ["kraken-hub", "kraken-aws-vpc"].map(of).to_vec();
        let fired = async |fails: bool| -> Result<usize> {
            let of_hub = |text: String| vec![target("kraken-hub", text)];
            let scrapes = match alert.name.as_str() {
                // A value counts for five minutes after its last scrape.
                "KrakenControllerDown" if fails => {
                    [vec![both()], vec![of_hub(steady.to_owned()); 7]].concat()
                }
                "KrakenControllerDown" => vec![both(); 8],
                _ if fails => vec![of_hub(steady.to_owned()), of_hub(steady.replace(from, &to))],
                _ => vec![of_hub(steady.to_owned()); 2],
            };
            let request = Request { scrapes, queries: vec![alert.expression.clone()], ..Request::default() };
            let answer = execute(&request).await?.answers.remove(0);
            assert_eq!(answer.error, "", "{}", alert.name);
            Ok(answer.series)
        };
        assert_eq!(fired(false).await?, 0, "{} fires in steady state", alert.name);
        assert_eq!(fired(true).await?, 1, "{} does not fire", alert.name);
    }
    Ok(())
}

#[tokio::test]
async fn each_alert_has_a_runbook_and_names_existing_reasons() -> Result<()> {
    let read =
        |path: &str| -> Result<String> { Ok(std::fs::read_to_string(paths::workspace_root()?.join(path))?) };
    let (runbooks, reasons) = (read("docs/operations.md")?, read("docs/conditions.md")?);
    let Monitoring { alerts, panels, rules } = monitoring().await?;
    let mut queries: Vec<String> = alerts.iter().map(|alert| alert.expression.clone()).collect();
    for alert in &alerts {
        let heading = format!("\n### {}\n", alert.name);
        assert!(runbooks.contains(&heading), "{} has no section in docs/operations.md", alert.name);
    }
    queries.extend(panels);
    let response = execute(&Request { queries, rules, ..Request::default() }).await?;
    let selectors = response.answers.iter().flat_map(|answer| &answer.selectors);
    for reason in selectors.clone().filter_map(|selector| selector.labels.get("reason")) {
        for reason in reason.split('|') {
            assert!(reasons.contains(&format!("`{reason}`")), "docs/conditions.md has no reason {reason}");
        }
    }
    // The documented names are names of metrics.
    let queried: BTreeSet<&str> =
        selectors.map(|selector| selector.metric.trim_end_matches("_bucket")).collect();
    let documented = metrics_in(&runbooks);
    assert!(queried.is_subset(&documented), "not documented: {:?}", queried.difference(&documented));
    Ok(())
}
