//! Executes PromQL with Prometheus' own parser and engine, which are built once from the Go module in `prometheus/`.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde::{Deserialize, Serialize};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use crate::go::{Ensure as _, Module, Program};

const MODULE: Module = Module {
    name: "prometheus",
    go_mod: include_str!("../prometheus/go.mod"),
    go_sum: include_str!("../prometheus/go.sum"),
    tools: include_str!("../prometheus/tools.go"),
    files: &[
        ("queries/main.go", include_str!("../prometheus/queries/main.go")),
        ("queries/memory.go", include_str!("../prometheus/queries/memory.go")),
    ],
};
const QUERIES: Program = Program {
    name: "queries",
    package: "./queries",
    version_of: "github.com/prometheus/prometheus",
    takes: "about a minute",
    without_go: "",
};
pub(crate) const PROGRAMS: [(&Module, &Program); 1] = [(&MODULE, &QUERIES)];

/// The metrics of one target in one scrape.
#[derive(Debug, Clone, Serialize)]
pub struct Target {
    /// The labels that Prometheus adds.
    pub labels: BTreeMap<String, String>,
    /// The text of `/metrics`.
    pub text: String,
}

/// The queries and their input.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Request {
    /// The targets of each scrape. Scrapes are one minute apart, and queries are executed at the last.
    pub scrapes: Vec<Vec<Target>>,
    /// The expressions.
    pub queries: Vec<String>,
    /// A rules file, or an empty string.
    pub rules: String,
}

/// The result.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Response {
    /// The problems in the rules file, as `promtool check rules` reports them.
    pub rule_problems: Vec<String>,
    /// One answer for each expression.
    pub answers: Vec<Answer>,
    /// The labels of each metric.
    pub metrics: BTreeMap<String, Vec<String>>,
}

/// The result of one expression.
#[derive(Debug, Clone, Deserialize)]
pub struct Answer {
    /// The expression.
    pub query: String,
    /// Why it cannot be executed; empty if it can.
    #[serde(default)]
    pub error: String,
    /// The metrics that it reads.
    pub selectors: Vec<Selector>,
    /// The labels that it groups by.
    pub grouping: Vec<String>,
    /// The number of series in the result.
    pub series: usize,
}

/// A metric in an expression.
#[derive(Debug, Clone, Deserialize)]
pub struct Selector {
    /// Its name.
    pub metric: String,
    /// The labels that are matched, with the value or pattern.
    pub labels: BTreeMap<String, String>,
}

/// Executes the expressions on the metrics.
///
/// # Errors
/// When Go is absent, or metrics cannot be parsed.
pub async fn execute(request: &Request) -> Result<Response> {
    let mut command = Command::new(MODULE.ensure(&QUERIES).await?);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    let mut child = command.spawn().context("cannot run the queries")?;
    let mut input = child.stdin.take().context("no stdin")?;
    input.write_all(&serde_json::to_vec(request)?).await?;
    drop(input);
    let output = child.wait_with_output().await?;
    ensure!(output.status.success(), "the queries failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(serde_json::from_slice(&output.stdout)?)
}
