//! A plugin ends with the process that started it, also if that is killed. The programs are this one: the test, the owner of a plugin
//! that is killed, and the launcher.
#![allow(clippy::unwrap_used, clippy::panic)] // a panic fails the test

#[path = "../plugin/programs.rs"]
#[allow(dead_code)] // other providers
mod programs;

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, thread};

use kraken_tfplugin::{Host, HostLink, HostOptions, Plugin, StartRequest, exec_plugin};

fn main() {
    let mut arguments = env::args_os().skip(1);
    match arguments.next().as_deref().and_then(|argument| argument.to_str()) {
        Some("launch") => panic!("{}", exec_plugin(arguments)),
        Some("own") => own(),
        // The arguments of cargo test.
        _ => a_plugin_ends_with_a_killed_owner(),
    }
}

fn a_plugin_ends_with_a_killed_owner() {
    programs::ktest();
    let mut owner = Command::new(env::current_exe().unwrap());
    let mut owner = owner.arg("own").stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(owner.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let plugin = format!("/proc/{}", line.trim());
    let name = std::fs::read_to_string(format!("{plugin}/cmdline")).unwrap();
    assert!(name.contains("ktest"), "{name}");
    owner.kill().unwrap();
    owner.wait().unwrap();
    let is_gone = (0..100).any(|_| {
        thread::sleep(Duration::from_millis(50));
        !Path::new(&plugin).exists()
    });
    assert!(is_gone, "{plugin} runs");
    println!("test a_plugin_ends_with_a_killed_owner ... ok");
}

/// Starts a plugin, prints its process id, and waits to be killed.
#[tokio::main(flavor = "current_thread")]
async fn own() {
    let mut options = HostOptions::new("test");
    options.launcher = vec![env::current_exe().unwrap().into(), "launch".into()];
    let program = programs::ktest().display().to_string();
    let host = HostLink::Own(Host::new(options));
    let plugin = Plugin::start(&host, StartRequest { program, ..StartRequest::default() }).await.unwrap();
    println!("{}", plugin.process_id());
    std::future::pending::<()>().await;
}
