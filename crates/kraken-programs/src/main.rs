//! The start of `cargo xtask`: begins the builds that the command needs, all at once, and becomes the real `xtask`.
//!
//! It has no dependencies and compiles in seconds. `xtask` has 230, and took minutes in which nothing else was built.

use std::env;
use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

use kraken_programs::control_plane;

/// The argument of the process that builds the control plane.
const BUILD_CONTROL_PLANE: &str = "--build-control-plane";

/// What a command of `xtask` needs.
#[derive(Debug, PartialEq, Eq)]
struct Plan {
    control_plane: bool,
    binaries: Binaries,
    /// The profile of the builds if it is not `dev`; also the name of its folder.
    profile: Option<&'static str>,
}

/// Which binaries are built before `xtask` runs.
#[derive(Debug, PartialEq, Eq)]
enum Binaries {
    /// Only `xtask`.
    Own,
    /// Also those of the quickstart. The demo builds the others while it runs.
    Quickstart,
    /// All.
    All,
}

impl Plan {
    /// Pure. An unknown command is for `xtask` to reject.
    fn of(arguments: &[&str]) -> Self {
        let has = |word: &str| arguments.contains(&word);
        let command = arguments.iter().find(|word| !word.starts_with('-')).copied().unwrap_or_default();
        let helps = has("--help") || has("-h") || has("--serve");
        let (control_plane, binaries) = match command {
            _ if helps => (false, Binaries::Own),
            // The controllers are built for images.
            "demo" | "up" if has("--node") => (true, Binaries::Own),
            "demo" if !has("web-tier") => (true, Binaries::Quickstart),
            "demo" | "up" | "test" | "bench" | "crash" => (true, Binaries::All),
            _ => (false, Binaries::Own),
        };
        let profile = (command == "bench" && !helps).then_some("measured");
        Self { control_plane, binaries, profile }
    }
}

impl Binaries {
    /// The arguments of `cargo build`. Binaries and not packages are selected: the features are then those of the whole workspace,
    /// and no dependency is compiled twice.
    fn arguments(&self) -> Vec<&'static str> {
        match self {
            Self::Own => vec!["--bin", "xtask"],
            Self::Quickstart => {
                vec!["--bin", "xtask", "--bin", "kraken-hub", "--bin", "kraken-aws-ec2-instance"]
            }
            Self::All => vec!["--workspace", "--bins"],
        }
    }
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = env::args_os().skip(1).collect();
    if arguments == [BUILD_CONTROL_PLANE] {
        return build_control_plane();
    }
    match start(&arguments) {
        Ok(code) => code,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns only if `xtask` cannot run.
fn start(arguments: &[OsString]) -> std::io::Result<ExitCode> {
    let words: Vec<&str> = arguments.iter().filter_map(|word| word.to_str()).collect();
    let plan = Plan::of(&words);
    let program = env::current_exe()?;
    let builds_control_plane = plan.control_plane && !control_plane::missing().is_empty();
    if builds_control_plane {
        // Not waited for: `xtask` waits for the lock of the cache. It is in the same process group, so that Ctrl-C ends it.
        Command::new(&program).arg(BUILD_CONTROL_PLANE).stdin(Stdio::null()).spawn()?;
    }
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(cargo);
    build.arg("build");
    let mut xtask = program.with_file_name("xtask");
    if let Some(profile) = plan.profile {
        build.args(["--profile", profile]);
        xtask = program.with_file_name("..").join(profile).join("xtask");
    }
    build.args(plan.binaries.arguments());
    if plan.binaries == Binaries::Own && xtask.is_file() {
        // Only changes are compiled, which takes seconds.
        build.arg("--quiet");
    }
    if builds_control_plane {
        // Lines of the other build would break the progress bar.
        build.env("CARGO_TERM_PROGRESS_WHEN", "never");
    }
    let status = build.status()?;
    if !status.success() {
        let code = status.code().and_then(|code| u8::try_from(code).ok());
        return Ok(code.map_or(ExitCode::FAILURE, ExitCode::from));
    }
    // It becomes the process, as it does under `cargo run`: with the process id and the start of the command.
    Err(Command::new(xtask).args(arguments).exec())
}

fn build_control_plane() -> ExitCode {
    for program in control_plane::missing() {
        if let Err(error) = control_plane::build(program) {
            eprintln!("{error}; it will be tried again");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_begins_with_the_builds_that_it_needs() {
        for (command, control_plane, binaries) in [
            ("demo", true, Binaries::Quickstart),
            ("demo --once quickstart", true, Binaries::Quickstart),
            ("demo web-tier", true, Binaries::All),
            ("demo --node", true, Binaries::Own),
            ("up", true, Binaries::All),
            ("up --serve", false, Binaries::Own),
            ("test -- name", true, Binaries::All),
            ("gen --check", false, Binaries::Own),
            ("demo --help", false, Binaries::Own),
            ("", false, Binaries::Own),
        ] {
            let words: Vec<&str> = command.split_whitespace().collect();
            assert_eq!(Plan::of(&words), Plan { control_plane, binaries, profile: None }, "{command}");
        }
        let bench = Plan { control_plane: true, binaries: Binaries::All, profile: Some("measured") };
        assert_eq!(Plan::of(&["bench", "create"]), bench);
    }

    #[test]
    fn the_alias_of_cargo_starts_here() {
        let config = include_str!("../../../.cargo/config.toml");
        assert!(config.contains("xtask = \"run --quiet --bin xtask-start --\""), "{config}");
    }
}
