//! Child processes must end with their parent, and not before.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use kraken_testing::process::{Process, Spec};

fn alive(pid: i32) -> bool {
    // A zombie has ended, but its directory stays until its parent waits for it.
    std::fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

fn eventually(what: &str, mut holds: impl FnMut() -> bool) {
    let started = Instant::now();
    while !holds() {
        assert!(started.elapsed() < Duration::from_secs(15), "{what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn sleeper(folder: &Path) -> Spec {
    Spec::new("sleeper", "sleep", folder).arg("300")
}

#[test]
fn a_child_is_stopped_when_its_guard_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let mut process = Process::spawn(&sleeper(folder.path())).unwrap();
    let pid = process.pid();
    assert!(process.is_running() && alive(pid));
    assert!(process.rss_bytes().unwrap() > 0);
    drop(process);
    assert!(!alive(pid));
}

#[test]
fn a_child_that_ignores_term_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap '' TERM; echo deaf; while :; do sleep 0.05; done";
    let spec = Spec::new("deaf", "sh", folder.path()).args(["-c", script]).grace(Duration::from_millis(300));
    let mut process = Process::spawn(&spec).unwrap();
    eventually("the child starts", || {
        process.log_tail().contains("deaf\n    ") || process.log_tail().ends_with("deaf")
    });
    let pid = process.pid();
    process.stop();
    assert!(!alive(pid) && !process.is_running());
}

#[test]
fn a_child_that_ends_is_noticed_and_its_log_kept() {
    let folder = tempfile::tempdir().unwrap();
    let mut process =
        Process::spawn(&Spec::new("brief", "sh", folder.path()).args(["-c", "echo out; echo err >&2"]))
            .unwrap();
    eventually("the end is detected", || !process.is_running());
    assert!(process.log_tail().contains("out\n    err"));
    assert!(process.signal(nix::sys::signal::Signal::SIGTERM).is_err());
}

/// Not a test of its own: the process that `children_die_when_their_parent_is_killed` kills.
#[test]
#[ignore = "run by another test"]
fn parent_that_is_killed() {
    let folder = std::env::var("SLEEPER_FOLDER").unwrap();
    let _process = Process::spawn(&sleeper(Path::new(&folder))).unwrap();
    std::thread::sleep(Duration::from_mins(1));
}

#[test]
fn children_die_when_their_parent_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let mut parent = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "parent_that_is_killed"])
        .env("SLEEPER_FOLDER", folder.path())
        .spawn()
        .unwrap();
    let mut pid = None;
    eventually("the child starts", || {
        let text = std::fs::read_to_string(folder.path().join("sleeper.pid")).unwrap_or_default();
        pid = text.trim().parse::<i32>().ok();
        pid.is_some()
    });
    parent.kill().unwrap(); // SIGKILL: nothing in the parent runs any more
    parent.wait().unwrap();
    eventually("the child ends", || !alive(pid.unwrap()));
}
