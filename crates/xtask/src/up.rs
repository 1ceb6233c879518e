//! `cargo xtask up` and `down`: the environment in the background.

use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, Result};
use kraken_local::background::Background;
use kraken_testing::paths;
use serde::{Deserialize, Serialize};

use crate::signals::Stop;
use crate::{node, stage, ui};

const DOWN_WITHIN: Duration = Duration::from_mins(1);

#[derive(Serialize, Deserialize)]
struct Ready {
    kubeconfig: PathBuf,
    server: String,
    aws_endpoint: String,
    logs: Vec<PathBuf>,
}

fn background() -> Result<Background> {
    let bin_dir = paths::bin_dir()?;
    let target = bin_dir.parent().context("the binaries' folder has no parent")?;
    Background::in_folder(target.join("kraken-up"))
}

/// Starts it unless it is running, and prints how to use it.
pub(crate) async fn up(with_node: bool) -> Result<()> {
    // Read before building: a build replaces the file, which then has no path any more.
    let program = std::env::current_exe().context("cannot find the path of the running executable")?;
    let background = background()?;
    if background.is_up()? {
        println!("already up");
        print_ready(&background.join(show).await?);
        return Ok(());
    }
    if with_node {
        node::prepare().await?;
    } else {
        stage::prepare().await?;
    }
    let mut command = std::process::Command::new(program);
    command.args(["up", "--serve"]).args(with_node.then_some("--node")).current_dir(paths::workspace_root()?);
    print_ready(&background.start(command, show).await?);
    Ok(())
}

/// Prints output of the background process.
fn show(text: &str) {
    print!("{text}");
    let _ = std::io::stdout().flush(); // a closed terminal is not a reason to stop
}

fn print_ready(ready: &Ready) {
    ui::headline("Kraken is running");
    println!("{}", ui::exports(&ready.kubeconfig, &ready.aws_endpoint));
    println!("# Kubernetes listens on {}; try: kubectl apply -f config/samples/quickstart", ready.server);
    for log in &ready.logs {
        println!("# log: {}", log.display());
    }
    println!("# `cargo xtask down` stops it");
}

/// The background process.
pub(crate) async fn serve(stop: &mut Stop, with_node: bool) -> Result<()> {
    let background = background()?;
    let _lock = background.begin().await?;
    let result = if with_node {
        serve_node(stop, &background).await
    } else {
        serve_processes(stop, &background).await
    };
    background.forget();
    result
}

async fn serve_processes(stop: &mut Stop, background: &Background) -> Result<()> {
    let environment = stop.race(stage::start(stage::with_webhooks())).await?;
    let ready = Ready {
        kubeconfig: environment.control_plane.admin_kubeconfig(),
        server: environment.control_plane.server().to_owned(),
        aws_endpoint: environment.moto.endpoint().to_owned(),
        logs: environment.suite.controllers().map(kraken_testing::suite::Controller::log).collect(),
    };
    background.say(&ready)?;
    stop.requested().await;
    Ok(())
}

async fn serve_node(stop: &mut Stop, background: &Background) -> Result<()> {
    let cluster = stop.race(node::start(&[])).await?;
    let (kubeconfig, aws_endpoint) =
        (cluster.control_plane.admin_kubeconfig(), cluster.moto.endpoint().to_owned());
    stop.race(node::install(&kubeconfig, &aws_endpoint)).await?;
    let logs = ["kubelet.log", "containerd.log"].map(|log| cluster.node.folder().join(log)).to_vec();
    let server = cluster.control_plane.server().to_owned();
    background.say(&Ready { kubeconfig, server, aws_endpoint, logs })?;
    stop.requested().await;
    Ok(())
}

/// Stops it if it is up.
pub(crate) async fn down() -> Result<()> {
    match background()?.stop(DOWN_WITHIN).await? {
        Some(took) => println!("down after {:.1} s", took.as_secs_f64()),
        None => println!("nothing is running"),
    }
    Ok(())
}
