//! Starts, and programs that are no plugins.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kraken_tfplugin::{CallError, Host, HostLink, HostOptions, Plugin, Protocol};

use crate::ktest::{BOTH, FILE, Ktest, host, request, request_of, with};

/// Why a program is not started.
async fn rejected(program: impl AsRef<Path>) -> String {
    let options = HostOptions { deadline: Duration::from_secs(5), ..HostOptions::new("test") };
    let host = HostLink::Own(Host::new(options));
    Plugin::start(&host, request_of(program.as_ref())).await.unwrap_err().to_string()
}

#[tokio::test]
async fn both_protocols_have_the_same_schema_but_for_nested_attributes() {
    let mut names: Vec<BTreeSet<String>> = vec![];
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        assert_eq!(ktest.plugin.protocol(), protocol);
        let schema = ktest.schema();
        assert_eq!(schema.version, 1);
        assert!(
            schema.block.attributes["secret"].is_sensitive
                && schema.block.attributes["password"].is_write_only
        );
        assert!(schema.block.attributes["id"].is_computed && schema.block.attributes["name"].is_required);
        assert_eq!(schema.block.blocks["rule"].max_items, 8);
        assert!(ktest.plugin.schema().data_sources.contains_key(FILE));
        // The adapter of protocol 5 passes no abilities on, so that deletions are tested with and without a plan of the provider.
        assert_eq!(ktest.plugin.schema().capabilities.plan_destroy, protocol == Protocol::V6);
        names.push(schema.block.attributes.keys().cloned().collect());
    }
    assert_eq!(names[1].difference(&names[0]).collect::<Vec<_>>(), ["endpoints"]);
}

#[tokio::test]
async fn a_program_that_ends_is_reported_with_what_it_printed() {
    let error = rejected("/bin/sleep").await;
    assert!(
        error.contains("it ended (exit status: 1); it printed: ") && error.contains("missing operand"),
        "{error}"
    );
}

#[tokio::test]
async fn a_program_that_prints_something_else_is_no_plugin() {
    let error = rejected("/usr/bin/yes").await;
    assert!(error.contains(r#"expected the address of a plugin, got "y""#), "{error}");
}

#[tokio::test]
async fn files_that_are_no_programs_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    assert!(rejected(&path).await.ends_with("script is not a Linux program"));

    // The header of a program for another machine: SPARC.
    let mut program = fs::read("/bin/true").unwrap();
    program[18] = 2;
    program[19] = 0;
    fs::write(&path, program).unwrap();
    let error = rejected(&path).await;
    assert!(error.contains("is a program for machine 2, and this machine is"), "{error}");

    fs::copy("/bin/true", &path).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs::set_permissions(&path, permissions).unwrap();
    let error = rejected(&path).await;
    assert!(error.starts_with("failed to start") && error.contains("Permission denied"), "{error}");

    assert!(rejected("/nowhere").await.starts_with("failed to read /nowhere"));
}

#[tokio::test]
async fn another_file_than_expected_is_not_started() {
    let mut request = request(Protocol::V6);
    request.sha256 = Some("00".repeat(32));
    let error = Plugin::start(&host(), request.clone()).await.unwrap_err().to_string();
    let actual = error.rsplit("got ").next().unwrap();
    request.sha256 = Some(actual.to_uppercase());
    Plugin::start(&host(), request).await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_does_not_listen_is_ended_at_the_deadline() {
    let mark = format!("{:?}", std::time::SystemTime::now());
    let request = with(with(request(Protocol::V6), "KTEST_SILENT", "1"), "MARK", &mark);
    let host = HostLink::Own(Host::new(HostOptions {
        deadline: Duration::from_secs(1),
        ..HostOptions::new("test")
    }));
    let error = Plugin::start(&host, request).await.unwrap_err();
    assert!(error.to_string().starts_with("does not listen after 1 s"), "{error}");
    assert_ended(&mark).await;
}

#[tokio::test]
async fn the_environment_is_only_what_was_given() {
    let ktest = Ktest::start(Protocol::V6).await;
    let environment = fs::read(format!("/proc/{}/environ", ktest.plugin.process_id())).unwrap();
    let environment = String::from_utf8(environment).unwrap();
    let names: Vec<_> =
        environment.split_terminator('\0').filter_map(|pair| pair.split('=').next()).collect();
    assert_eq!(
        names.into_iter().collect::<BTreeSet<_>>(),
        BTreeSet::from([
            "KTEST_PROTOCOL",
            "PLUGIN_PROTOCOL_VERSIONS",
            "PLUGIN_UNIX_SOCKET_DIR",
            "TF_PLUGIN_MAGIC_COOKIE"
        ])
    );
}

#[tokio::test]
async fn a_plugin_ends_when_it_is_asked_to() {
    for protocol in BOTH {
        let ktest = Ktest::start(protocol).await;
        // By itself, and not by a signal, which it would get after five seconds.
        let started = Instant::now();
        ktest.plugin.end().await;
        assert!(started.elapsed() < Duration::from_secs(4));
        assert!(!is_running(ktest.plugin.process_id()));
        let error = ktest.plugin.configure(&ktest.provider_config("right")).await.unwrap_err();
        assert!(matches!(error, CallError::Ended(_)), "{error}");
    }
}

#[tokio::test]
async fn the_socket_is_removed_after_the_connection() {
    let ktest = Ktest::start(Protocol::V5).await;
    let folder = fs::read_link(format!("/proc/{}/cwd", ktest.plugin.process_id())).unwrap();
    assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
    ktest.plugin.end().await;
    assert!(!folder.exists());
}

#[tokio::test]
async fn a_plugin_ends_with_its_host() {
    let ktest = Ktest::start(Protocol::V6).await;
    let (id, other) = (ktest.plugin.process_id(), ktest.plugin.clone());
    drop(ktest);
    assert!(is_running(id));
    drop(other);
    assert_gone(id).await;
}

fn is_running(id: i32) -> bool {
    Path::new(&format!("/proc/{id}")).exists()
}

async fn assert_gone(id: i32) {
    let process = format!("/proc/{id}");
    for _ in 0..100 {
        if !Path::new(&process).exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("{process} exists");
}

/// No process has this text in its environment.
async fn assert_ended(text: &str) {
    for _ in 0..100 {
        let found = Command::new("grep").args(["-lsF", text]).args(environments()).output().unwrap();
        if found.stdout.is_empty() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a process with {text} runs");
}

fn environments() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let names = processes.filter_map(|entry| entry.file_name().into_string().ok());
    let ids = names.filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()));
    ids.map(|id| format!("/proc/{id}/environ")).collect()
}

#[tokio::test]
async fn a_wrong_configuration_is_a_diagnostic_with_its_attribute() {
    let ktest = Ktest::start(Protocol::V5).await;
    let error = ktest.plugin.configure(&ktest.provider_config("wrong")).await.unwrap_err();
    assert_eq!(error.to_string(), "token: invalid token");
}
