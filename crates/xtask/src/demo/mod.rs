//! `cargo xtask demo`: a demonstration of Kraken, from an empty cluster to the deletion of all resources.

mod common;
mod on_node;
mod openstack;
mod quickstart;
mod shop;
mod show;
mod web_tier;

use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::{Args, ValueEnum};
use kraken_testing::{Environment, EnvironmentOptions, Suite};
use tokio::task::JoinSet;

use crate::elapsed::CommandStart;
use crate::signals::Stop;
use crate::{cargo, stage, ui};
use on_node::OnNode;
use openstack::OnOpenStack;
use quickstart::Quickstart;
use shop::Shop;
use web_tier::WebTier;

/// The controllers of the quickstart, which are built and started first.
const QUICKSTART: [&str; 2] = ["hub", "aws-ec2-instance"];
/// The controllers of the demo with a provider.
const PROVIDERS: [&str; 2] = ["hub", "tofu"];

/// The demo and its options.
#[derive(Args)]
pub(crate) struct DemoArgs {
    /// The samples to apply.
    #[arg(value_enum, default_value = "quickstart")]
    samples: Samples,
    /// On a real node: controllers are pods, and a pod mounts the web tier's address. Requires root and a few packages.
    #[arg(long, conflicts_with = "samples")]
    node: bool,
    /// Delete everything and exit at the end; fail if anything is not Ready in time.
    #[arg(long)]
    once: bool,
    /// How long everything may take to become Ready.
    #[arg(long, default_value = "180s", value_parser = humantime::parse_duration)]
    timeout: Duration,
}

#[derive(Clone, Copy, ValueEnum)]
enum Samples {
    /// Instances with references to a ConfigMap and to each other.
    Quickstart,
    /// A network, instances and a load balancer, whose address is exported to a ConfigMap.
    WebTier,
    /// A web team's first week: domain, certificate, load balancer, scaling group, role, database, bucket and queues.
    Shop,
    /// A network and a server on the OpenStack cloud that OS_AUTH_URL and the other variables of its clients name, by its OpenTofu
    /// provider.
    Openstack,
}

/// Starts the environment, runs the demo, and then either keeps running until Ctrl-C or (`once`) exits.
pub(crate) async fn run(stop: &mut Stop, args: DemoArgs, entered: CommandStart) -> Result<()> {
    if args.node {
        let demo = stop.race(OnNode::begin(args.timeout)).await?;
        stop.race(demo.create()).await?;
        stop.race(demo.move_port()).await?;
        pause(stop, &args, || demo.print_next_steps()).await;
        stop.race(demo.delete()).await?;
        done(entered);
        return Ok(());
    }
    match args.samples {
        Samples::Quickstart => {
            let environment = stop.race(set_up(Some(&QUICKSTART))).await?;
            let others = build_others();
            let mut demo = stop.race(Quickstart::begin(&environment, args.timeout)).await?;
            stop.race(demo.reject()).await?;
            stop.race(demo.create(entered)).await?;
            stop.race(demo.add_missing_key()).await?;
            stop.race(demo.scale()).await?;
            stop.race(demo.results()).await?;
            let _others = stop.race(start_others(others, &environment)).await?;
            pause(stop, &args, || show::print_next_steps(&environment)).await;
            stop.race(demo.delete()).await?;
        }
        Samples::WebTier => {
            let environment = stop.race(set_up(None)).await?;
            let mut demo = stop.race(WebTier::begin(&environment, args.timeout)).await?;
            stop.race(demo.create(entered)).await?;
            stop.race(demo.move_port()).await?;
            pause(stop, &args, || show::what_to_try_with_the_tier(&environment)).await;
            stop.race(demo.delete()).await?;
        }
        Samples::Shop => {
            let environment = stop.race(set_up(None)).await?;
            let mut demo = stop.race(Shop::begin(&environment, args.timeout)).await?;
            stop.race(demo.create(entered)).await?;
            stop.race(demo.grow()).await?;
            stop.race(demo.rotate()).await?;
            pause(stop, &args, || show::what_to_try_with_the_shop(&environment)).await;
            stop.race(demo.delete()).await?;
        }
        Samples::Openstack => {
            OnOpenStack::check_variables()?;
            let environment = stop.race(set_up(Some(&PROVIDERS))).await?;
            let mut demo = stop.race(OnOpenStack::begin(&environment, args.timeout)).await?;
            let shown = stop.race(demo.show(entered)).await;
            if shown.is_ok() {
                pause(stop, &args, || show::what_to_try_on_openstack(&environment)).await;
            }
            // Also after an error or Ctrl-C: the cloud outlives the demo.
            demo.delete().await?;
            shown?;
        }
    }
    done(entered);
    Ok(())
}

fn done(entered: CommandStart) {
    ui::headline("Done");
    println!(
        "All resources were created, changed and deleted as expected. The command was entered {} ago.",
        entered.ago()
    );
}

/// Keeps running until Ctrl-C, unless `once` is set.
async fn pause(stop: &mut Stop, args: &DemoArgs, print: impl FnOnce()) {
    if !args.once {
        print();
        stop.requested().await;
        println!();
    }
}

/// Builds and starts these controllers, or all, and the rest of the environment.
async fn set_up(only: Option<&[&str]>) -> Result<Environment> {
    ui::headline("Starting the environment");
    match only {
        Some(controllers) => stage::prepare_controllers(controllers).await?,
        None => stage::prepare().await?,
    }
    let EnvironmentOptions { control_plane, mut suite } = stage::with_webhooks();
    suite.only = only.map(|controllers| controllers.iter().map(|&name| name.to_owned()).collect());
    let environment = stage::start(EnvironmentOptions { control_plane, suite }).await?;
    println!("   Kubernetes: {}", environment.control_plane.server());
    println!("   AWS:        {} (moto)", environment.moto.endpoint());
    Ok(environment)
}

/// Builds the other controllers while the demo runs; the build ends on drop.
fn build_others() -> JoinSet<Result<()>> {
    let mut build = JoinSet::new();
    build.spawn(cargo::build_binaries_in_background());
    build
}

/// Waits for the build, and starts the other controllers; they are stopped on drop.
async fn start_others(mut build: JoinSet<Result<()>>, environment: &Environment) -> Result<Suite> {
    ui::headline("The other controllers");
    let built = async { build.join_next().await.context("there is no build")?? };
    ui::step("waiting until they are built", built).await?;
    let others = stage::start_others(environment).await?;
    println!("   logs: {}", others.folder().display());
    Ok(others)
}
