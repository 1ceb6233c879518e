//! Starts, and programs that are no plugins.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, io};

use kraken_tfplugin::{CallError, Plugin, Protocol, StartError, StartOptions};

use crate::ktest::{BOTH, FILE, Ktest, options};
use crate::programs;

/// Why a program is not started.
async fn rejected(program: impl AsRef<Path>) -> StartError {
    let folder = tempfile::tempdir().unwrap();
    let mut options = StartOptions::new(program.as_ref(), folder.path());
    options.deadline = Duration::from_secs(5);
    Plugin::start(&options).await.unwrap_err()
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
    let StartError::Ended { status, stderr } = &error else { panic!("{error}") };
    assert_eq!(status, "exit status: 1");
    assert!(stderr.contains("missing operand") && error.to_string().contains(stderr), "{error}");
}

#[tokio::test]
async fn a_program_that_prints_something_else_is_no_plugin() {
    let error = rejected("/usr/bin/yes").await;
    assert!(error.to_string().contains(r#"expected the address of a plugin, got "y""#), "{error}");
}

#[tokio::test]
async fn files_that_are_no_programs_are_rejected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script");
    fs::write(&path, "#!/bin/sh\n").unwrap();
    assert!(rejected(&path).await.to_string().ends_with("script is not a Linux program"));

    // The header of a program for another machine: SPARC.
    let mut program = fs::read("/bin/true").unwrap();
    program[18] = 2;
    program[19] = 0;
    fs::write(&path, program).unwrap();
    let error = rejected(&path).await.to_string();
    assert!(error.contains("is a program for machine 2, and this machine is"), "{error}");

    fs::copy("/bin/true", &path).unwrap();
    let mut permissions = fs::metadata(&path).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o600);
    fs::set_permissions(&path, permissions).unwrap();
    let error = rejected(&path).await;
    assert!(
        matches!(&error, StartError::Spawn(_, error) if error.kind() == io::ErrorKind::PermissionDenied),
        "{error}"
    );

    assert!(matches!(rejected("/nowhere").await, StartError::Open(..)));
}

#[tokio::test]
async fn another_file_than_expected_is_not_started() {
    let (mut options, _socket) = options(Protocol::V6);
    options.sha256 = Some("00".repeat(32));
    let error = Plugin::start(&options).await.unwrap_err();
    let StartError::Digest { actual, .. } = error else { panic!("{error}") };
    options.sha256 = Some(actual.to_uppercase());
    Plugin::start(&options).await.unwrap();
}

#[tokio::test]
async fn a_plugin_that_does_not_listen_is_ended_at_the_deadline() {
    let (options, socket) = options(Protocol::V6);
    let mut options = options.env("KTEST_SILENT", "1");
    options.deadline = Duration::from_secs(1);
    let error = Plugin::start(&options).await.unwrap_err();
    assert!(error.to_string().starts_with("does not listen after 1 s"), "{error}");
    assert_ended(&socket.path().display().to_string()).await;
}

#[tokio::test]
async fn a_folder_that_is_too_long_or_absent_is_rejected() {
    let folder = tempfile::tempdir().unwrap();
    for (name, reason) in [("x".repeat(100), "too long"), ("absent".to_owned(), "No such file")] {
        let options = StartOptions::new(programs::ktest(), folder.path().join(name));
        let error = Plugin::start(&options).await.unwrap_err();
        assert!(matches!(error, StartError::Folder(..)) && error.to_string().contains(reason), "{error}");
    }
}

#[tokio::test]
async fn the_environment_is_only_what_was_given() {
    let (options, _socket) = options(Protocol::V6);
    let ktest = Ktest::start_with(options, tempfile::tempdir().unwrap()).await;
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
        let started = Instant::now();
        ktest.plugin.shut_down(Duration::from_secs(20)).await;
        assert!(started.elapsed() < Duration::from_secs(10));
        // By itself, and not by a signal.
        assert_eq!(ktest.plugin.exit_status().unwrap().code(), Some(0));
        let error = ktest.plugin.configure(&ktest.provider_config("right")).await.unwrap_err();
        assert!(matches!(&error, CallError::Ended(status) if status == "exit status: 0"), "{error}");
    }
}

#[tokio::test]
async fn the_socket_is_removed_after_the_connection() {
    let (options, socket) = options(Protocol::V5);
    let plugin = Plugin::start(&options).await.unwrap();
    assert_eq!(fs::read_dir(socket.path()).unwrap().count(), 0);
    assert!(plugin.exit_status().is_none());
}

#[tokio::test]
async fn a_plugin_ends_with_its_last_handle() {
    let ktest = Ktest::start(Protocol::V6).await;
    let (id, other) = (ktest.plugin.process_id(), ktest.plugin.clone());
    drop(ktest);
    assert!(other.exit_status().is_none());
    drop(other);
    assert_gone(id).await;
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
