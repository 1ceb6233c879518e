use clap::Parser;

use super::*;

#[derive(Debug, Parser)]
struct Cli {
    #[command(flatten)]
    args: RunArgs,
}

fn parse(arguments: &[&str]) -> Result<RunArgs, String> {
    Cli::try_parse_from([&["kraken"], arguments].concat()).map(|cli| cli.args).map_err(|e| e.to_string())
}

fn accepts(arguments: &[&str]) -> RunArgs {
    parse(arguments).unwrap()
}

fn rejects(arguments: &[&str], because: &str) {
    let message = parse(arguments).unwrap_err();
    assert!(message.contains(because), "{arguments:?}: {message}");
}

#[test]
fn no_flag_is_required() {
    let args = accepts(&[]);
    assert_eq!(args.resync(), Some(Duration::from_mins(5)));
    assert_eq!(args.concurrency, 32);
    assert_eq!(args.request_concurrency, 64);
    assert_eq!(args.request_timeout, Duration::from_secs(15));
    assert_eq!(args.lease_duration, Duration::from_secs(15));
    assert_eq!(args.listen_address.to_string(), LISTEN_ADDRESS);
    assert!(args.namespaces.is_all());
    assert!(args.leader_elect);
    assert_eq!(args.log_format, LogFormat::Text);
}

#[test]
fn defaults_in_code_equal_those_of_the_flags() {
    assert_eq!(format!("{:?}", RunArgs::default()), format!("{:?}", accepts(&[])));
}

#[test]
fn every_flag_has_an_environment_variable() {
    use clap::CommandFactory;
    for argument in Cli::command().get_arguments().filter(|a| a.get_id() != "help") {
        let variable = argument.get_env().map(|v| v.to_string_lossy().into_owned()).unwrap_or_default();
        assert!(variable.starts_with("KRAKEN_"), "{}", argument.get_id());
    }
}

#[test]
fn a_resync_interval_can_be_zero_but_not_invalid() {
    assert_eq!(accepts(&["--resync-interval", "0"]).resync(), None);
    assert_eq!(accepts(&["--resync-interval", "90s"]).resync(), Some(Duration::from_secs(90)));
    for bad in ["-5m", "banana", "", "2years"] {
        rejects(&["--resync-interval", bad], "0");
    }
}

#[test]
fn concurrency_is_bounded() {
    assert_eq!(accepts(&["--concurrency", "1024"]).concurrency, 1024);
    for bad in ["0", "1025", "-1", "many"] {
        rejects(&["--concurrency", bad], "from 1 to 1024");
    }
}

#[test]
fn namespaces_are_a_list_of_names() {
    let some = accepts(&["--namespaces", "b, a,,b"]).namespaces;
    assert_eq!(some.names(), ["a", "b"]);
    assert_eq!(some.to_string(), "a,b");
    assert!(some.contains("a") && !some.contains("c"));
    assert!(accepts(&["--namespaces", ""]).namespaces.is_all());
    rejects(&["--namespaces", "a,B_c"], "\"B_c\" is not a namespace");
}

#[test]
fn lease_durations_and_timeouts_out_of_range_are_rejected() {
    assert_eq!(accepts(&["--lease-duration=30s"]).lease_duration, Duration::from_secs(30));
    for bad in ["1s", "2h", "-15s", "banana"] {
        rejects(&["--lease-duration", bad], "from 3s to 1h");
    }
    rejects(&["--lease-duration", "3500ms"], "whole number of seconds");
    for bad in ["0", "2m"] {
        rejects(&["--request-timeout", bad], "from 500ms to 1m");
    }
}

#[test]
fn webhooks_are_off_unless_an_address_is_given() {
    assert_eq!(accepts(&[]).webhook_listen, Listen(None));
    assert!(accepts(&["--webhook-listen", "0.0.0.0:9443"]).webhook_listen.0.is_some());
    rejects(&["--webhook-listen", "9443"], "ADDRESS:PORT");
    for bad in ["1s", "2y", "-90d", "soon"] {
        rejects(&["--webhook-certificate-lifetime", bad], "from 10s to 365d");
    }
}

#[test]
fn leader_election_can_be_disabled() {
    assert!(!accepts(&["--leader-elect=false"]).leader_elect);
    assert!(accepts(&["--leader-elect"]).leader_elect);
    rejects(&["--leader-elect=perhaps"], "perhaps");
}

#[test]
fn an_invalid_log_filter_is_rejected_at_startup() {
    assert_eq!(accepts(&["--log-level", "debug"]).log_level.as_deref(), Some("debug"));
    accepts(&["--log-level", "info,kraken_runtime=trace"]);
    rejects(&["--log-level", "kraken=loud"], "is not a level");
    rejects(&["--log-format", "xml"], "text, json");
}

#[test]
fn the_lease_is_in_the_namespace_of_the_pod_unless_a_flag_is_set() {
    let pod = || Some("team".to_owned());
    assert_eq!(accepts(&["--lease-namespace", "x"]).lease_namespace_or(pod()), "x");
    assert_eq!(accepts(&[]).lease_namespace_or(pod()), "team");
    assert_eq!(accepts(&[]).lease_namespace_or(Some(String::new())), SYSTEM_NAMESPACE);
    assert_eq!(accepts(&[]).lease_namespace_or(None), SYSTEM_NAMESPACE);
}
