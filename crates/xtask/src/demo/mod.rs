//! `cargo xtask demo`: Kraken at work, from nothing to everything deleted again.

mod on_node;
mod play;
mod quickstart;
mod show;
mod web_tier;

use std::time::{Duration, Instant};

use anyhow::Result;
use clap::{Args, ValueEnum};
use kraken_testing::Environment;

use crate::signals::Stop;
use crate::{stage, ui};
use on_node::OnNode;
use quickstart::Quickstart;
use web_tier::WebTier;

/// Which demo, and how.
#[derive(Args)]
pub(crate) struct Choice {
    /// Which samples are applied.
    #[arg(value_enum, default_value = "quickstart")]
    samples: Samples,
    /// On a real node: controllers are pods, and a pod mounts the web tier's address. Takes root and a few packages.
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
}

/// Starts the environment, runs the demo, and then either keeps running until Ctrl-C or (`once`) exits.
pub(crate) async fn run(stop: &mut Stop, choice: Choice) -> Result<()> {
    let began = Instant::now();
    if choice.node {
        let story = stop.race(OnNode::begin(choice.timeout)).await?;
        stop.race(story.create()).await?;
        stop.race(story.move_port()).await?;
        pause(stop, &choice, || story.what_to_try()).await;
        stop.race(story.delete()).await?;
        done(began);
        return Ok(());
    }
    let environment = stop.race(set_up()).await?;
    match choice.samples {
        Samples::Quickstart => {
            let mut story = stop.race(Quickstart::begin(&environment, choice.timeout)).await?;
            stop.race(story.refuse()).await?;
            stop.race(story.create()).await?;
            stop.race(story.add_missing_key()).await?;
            stop.race(story.scale()).await?;
            stop.race(story.results()).await?;
            pause(stop, &choice, || show::what_to_try(&environment)).await;
            stop.race(story.delete()).await?;
        }
        Samples::WebTier => {
            let mut story = stop.race(WebTier::begin(&environment, choice.timeout)).await?;
            stop.race(story.create()).await?;
            stop.race(story.move_port()).await?;
            pause(stop, &choice, || show::what_to_try_with_the_tier(&environment)).await;
            stop.race(story.delete()).await?;
        }
    }
    done(began);
    Ok(())
}

fn done(began: Instant) {
    ui::headline("Done");
    println!(
        "All resources were created, changed and deleted as expected, in {:.0} s.",
        began.elapsed().as_secs_f64()
    );
}

/// Keeps running until Ctrl-C, unless `once` is set.
async fn pause(stop: &mut Stop, choice: &Choice, print: impl FnOnce()) {
    if !choice.once {
        print();
        stop.requested().await;
        println!();
    }
}

async fn set_up() -> Result<Environment> {
    ui::headline("Starting the environment");
    stage::prepare().await?;
    let environment = stage::start(stage::with_webhooks()).await?;
    println!("   Kubernetes: {}", environment.control_plane.server());
    println!("   AWS:        {} (moto)", environment.moto.endpoint());
    Ok(environment)
}
