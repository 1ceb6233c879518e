//! `cargo xtask test`: all tests. `cargo xtask check` compares the generated files.

use std::time::{Duration, Instant};
use std::{collections::BTreeSet, process::ExitCode};

use anyhow::Result;
use kraken_testing::{paths, programs};

use crate::{cargo, stage};

/// The number of tests at once.
const THREADS: &str = "RUST_TEST_THREADS";
/// The most of them: each can have an API server, of 700 MB.
const MAX_THREADS: usize = 8;

/// Twice as many as cores, because most of the time of a test with a cluster is waiting.
fn threads() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    std::env::var(THREADS).unwrap_or_else(|_| (2 * cores).min(MAX_THREADS).to_string())
}

/// The tests with a cluster, of all packages. They take most of the time.
const WITH_CLUSTER: [&str; 3] = ["--workspace", "--test", "cluster"];
/// The module of those that run programs of other projects.
const OTHERS: &str = "other_projects";
/// How long a new machine compiles these programs on 2 cores.
const COMPILE: Duration = Duration::from_mins(18);
/// What a test with a cluster takes of the whole, until the first ones have shown it.
const USUAL: Duration = Duration::from_secs(8);
/// The least number of tests that are started together: with fewer, the last ones of each group would run alone for too long.
const TOGETHER: usize = 60;

#[derive(clap::Args)]
pub(crate) struct TestArgs {
    /// How many minutes all tests may take: those with a cluster run in groups, and a group that would take longer is not run. Those with
    /// programs of other projects (Argo CD, Flux, kro, cert-manager, Prometheus) come last. Without it, everything is run at once.
    #[arg(long, value_name = "MINUTES")]
    within: Option<u64>,
    /// Passed on to `cargo test --workspace`.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

/// Prepares everything that tests would otherwise time out on, then runs them.
pub(crate) async fn run(TestArgs { within, args }: TestArgs) -> Result<ExitCode> {
    let Some(within) = within else {
        tokio::try_join!(stage::prepare(), programs::ensure())?;
        return test(&["--workspace"], &args, &[]).await;
    };
    let (start, within) = (Instant::now(), Duration::from_mins(within));
    tokio::try_join!(stage::prepare(), programs::ensure_packaging())?;
    let names = names(&args).await?;
    let skipped = names.iter().flat_map(|name| ["--skip", name]);
    let mut code = test(&["--workspace"], &args, &skipped.collect::<Vec<_>>()).await?;
    let (mut run, first, mut left_out) = (0, Instant::now(), BTreeSet::new());
    for group in groups(&names) {
        let each = u32::try_from(run).ok().filter(|run| *run > 0).map_or(USUAL, |run| first.elapsed() / run);
        let others = module(group[0]) == OTHERS;
        let compile = if others && !programs::are_built() { COMPILE } else { Duration::ZERO };
        if start.elapsed() + compile + each * u32::try_from(group.len())? > within {
            left_out.extend(group.iter().map(|name| module(name)));
            continue;
        }
        if others {
            programs::ensure().await?;
        }
        let result = test(&WITH_CLUSTER, &args, &group).await?;
        code = if code == ExitCode::SUCCESS { result } else { code };
        run += group.len();
    }
    if !left_out.is_empty() {
        let (minutes, modules) =
            (start.elapsed().as_secs() / 60, left_out.into_iter().collect::<Vec<_>>().join(", "));
        eprintln!("NOT RUN: tests with a cluster, because those before took {minutes} minutes: {modules}");
    }
    Ok(code)
}

/// The names of the tests with a cluster.
async fn names(args: &[String]) -> Result<BTreeSet<String>> {
    let listed = ["--quiet", "--", "--list", "--format", "terse"];
    let args = ["test"].into_iter().chain(WITH_CLUSTER).chain(args.iter().map(String::as_str)).chain(listed);
    let list = cargo::output_in(&paths::workspace_root()?, &args.collect::<Vec<_>>()).await?;
    Ok(list.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
}

fn module(name: &str) -> &str {
    name.split("::").next().unwrap_or(name)
}

/// Consecutive modules together; the one with programs of other projects by itself, at the end.
fn groups(names: &BTreeSet<String>) -> Vec<Vec<&str>> {
    let (others, names): (Vec<&str>, Vec<&str>) =
        names.iter().map(String::as_str).partition(|name| module(name) == OTHERS);
    let mut groups: Vec<Vec<&str>> = Vec::new();
    for tests in names.chunk_by(|one, next| module(one) == module(next)) {
        match groups.last_mut() {
            Some(last) if last.len() < TOGETHER => last.extend(tests),
            _ => groups.push(tests.to_vec()),
        }
    }
    groups.extend(Some(others).filter(|others| !others.is_empty()));
    groups
}

/// Runs tests of this selection, with exactly these names or without these. Returns the exit code of cargo test, so that its summary is the
/// last output; a signal has none.
async fn test(selection: &[&str], args: &[String], names: &[&str]) -> Result<ExitCode> {
    let exact = if names.is_empty() { &[][..] } else { &["--", "--exact"] };
    let command = ["test"].iter().chain(selection).copied().chain(args.iter().map(String::as_str));
    let command = command.chain(exact.iter().chain(names).copied());
    let status = cargo::run_with(command, &[(THREADS, &threads())]).await?;
    Ok(cargo::exit_code(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_test_is_in_one_group_and_those_of_other_projects_are_last() {
        let module = |module: &str, tests: usize| {
            (0..tests).map(|test| format!("{module}::{test:02}")).collect::<Vec<_>>()
        };
        let sizes = [("accounts", 50), ("network", 20), (OTHERS, 3), ("plans", 70), ("widgets", 1)];
        let names: BTreeSet<String> = sizes.iter().flat_map(|(name, tests)| module(name, *tests)).collect();
        let groups = groups(&names);
        let lengths: Vec<usize> = groups.iter().map(Vec::len).collect();
        assert_eq!(lengths, [70, 70, 1, 3]);
        assert_eq!(groups.concat().into_iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(groups[3].iter().all(|name| name.starts_with(OTHERS)), "{:?}", groups[3]);
    }
}
