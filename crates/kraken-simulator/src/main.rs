//! The cloud simulator as a separate program, for controllers or the AWS CLI.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Parser;
use kraken_simulator::{Limit, Simulator, SimulatorOptions};

/// A simulated EC2 with its load balancers, for as long as it runs. Times are in milliseconds.
#[derive(Debug, Parser)]
#[command(version)]
struct Args {
    /// Where to listen
    #[arg(long, default_value = "127.0.0.1:5001")]
    listen: SocketAddr,
    /// The minimum duration of every response
    #[arg(long, default_value_t = 0)]
    latency: u64,
    /// How long an instance is pending
    #[arg(long, default_value_t = 50)]
    pending: u64,
    /// How long an instance is stopping
    #[arg(long, default_value_t = 50)]
    stopping: u64,
    /// How long an instance is shutting down
    #[arg(long, default_value_t = 50)]
    shutting_down: u64,
    /// How long a terminated instance is still described
    #[arg(long, default_value_t = 10_000)]
    terminated_visible: u64,
    /// How long the new instances of a launch are missing in Describe calls; they appear one by one
    #[arg(long, default_value_t = 0)]
    describe_lag: u64,
    /// How long a new instance is unknown to calls that change it
    #[arg(long, default_value_t = 0)]
    change_lag: u64,
    /// How long Describe calls return the former values of changed tags
    #[arg(long, default_value_t = 0)]
    tag_lag: u64,
    /// The maximum number of instances on a page
    #[arg(long, default_value_t = 1000)]
    page_size: usize,
    /// An existing image; may be repeated; every well-formed id if not set
    #[arg(long)]
    image: Vec<String>,
    /// How long each step of a volume, NAT gateway, load balancer or target takes
    #[arg(long, default_value_t = 50)]
    settling: u64,
    /// Reject launches with a subnet, security group or key pair that does not exist
    #[arg(long)]
    strict_network: bool,
    /// The maximum number of live instances
    #[arg(long)]
    capacity: Option<usize>,
    /// The maximum number of instances per launch
    #[arg(long)]
    per_launch: Option<usize>,
    /// An existing instance type; may be repeated; every well-formed name if not set
    #[arg(long)]
    instance_type: Vec<String>,
    /// Throttles an action (`*`: each): RunInstances=5:2 accepts 5 calls at once and 2 a second
    #[arg(long, value_parser = limit, value_name = "ACTION=BURST:PER_SECOND")]
    limit: Vec<(String, Limit)>,
}

fn limit(text: &str) -> Result<(String, Limit), String> {
    let parts = text.split_once('=').and_then(|(action, rates)| Some((action, rates.split_once(':')?)));
    let (action, (burst, per_second)) = parts.ok_or("must be like RunInstances=5:2")?;
    let number = |text: &str| text.parse::<f64>().map_err(|_| format!("{text} is no number"));
    Ok((action.to_owned(), Limit { burst: number(burst)?, per_second: number(per_second)? }))
}

impl Args {
    fn options(self) -> SimulatorOptions {
        let time = Duration::from_millis;
        let settling = time(self.settling);
        SimulatorOptions {
            listen: self.listen,
            latency: time(self.latency),
            pending: time(self.pending),
            stopping: time(self.stopping),
            shutting_down: time(self.shutting_down),
            terminated_visible: time(self.terminated_visible),
            describe_lag: time(self.describe_lag),
            change_lag: time(self.change_lag),
            tag_lag: time(self.tag_lag),
            page_size: self.page_size,
            images: (!self.image.is_empty()).then(|| self.image.into_iter().collect()),
            capacity: self.capacity,
            per_launch: self.per_launch,
            instance_types: (!self.instance_type.is_empty())
                .then(|| self.instance_type.into_iter().collect()),
            limits: self.limit.into_iter().collect(),
            strict_network: self.strict_network,
            volume_creating: settling,
            volume_attaching: settling,
            nat_pending: settling,
            nat_deleting: settling,
            provisioning: settling,
            releasing: settling,
            target_initial: settling,
            draining: settling,
            ..SimulatorOptions::default()
        }
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let simulator = Simulator::start(Args::parse().options())?;
    println!(
        "EC2 and its load balancers are simulated at {}; Ctrl-C stops it; all state is lost",
        simulator.endpoint()
    );
    let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        _ = end.recv() => {}
        pressed = tokio::signal::ctrl_c() => pressed?,
    }
    println!("{} calls, {} instances", simulator.count("*"), simulator.instances().len());
    Ok(())
}
