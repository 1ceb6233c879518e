//! Compares the in-memory API server with kube-apiserver: the same random requests to both must have equal responses,
//! except for times, UIDs and resource versions, whose order must be equal.
//!
//! A sequence of requests runs in separate namespaces on both servers. Each response is normalized ([`normal`]) and
//! compared at once; a difference is shrunk to the shortest sequence that reproduces it. Accepted differences are in
//! [`accepted`].

mod accepted;
mod difference;
mod generate;
mod normal;
mod pair;
mod shrink;
mod side;
mod steps;
mod stream;
mod template;

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use anyhow::{Context as _, Result};
use kube::Client;

use crate::apiserver::{ApiServer, Kinds};

pub use difference::Difference;
pub use generate::{Generator, Kind, Profile, kinds};
pub use pair::Pair;
pub use steps::{Body, Request, Step, StepAction};

/// The two servers.
pub struct Servers {
    /// What the in-memory API server serves; each sequence has a server of its own.
    pub kinds: Arc<Kinds>,
    /// kube-apiserver, with the same definitions.
    pub real: Client,
}

impl std::fmt::Debug for Servers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Servers")
    }
}

/// How often each method was answered with each status.
pub type Tally = BTreeMap<(String, u64), usize>;

/// What came of a sequence.
#[derive(Debug, Default)]
pub struct Compared {
    /// The requests that were made, opened watches among them.
    pub requests: usize,
    /// How often each method was answered with each status.
    pub tally: Tally,
    /// Each difference.
    pub differences: Vec<Difference>,
}

/// Runs the sequence of a seed with this number of requests. It continues after a difference that leaves both servers
/// in the same state.
///
/// # Errors
/// When a server does not answer at all.
pub async fn compare(
    servers: &Servers,
    kinds: &[Kind],
    seed: u64,
    profile: Profile,
    count: usize,
) -> Result<Compared> {
    let mut generator = Generator::new(seed, kinds, profile);
    let (mut pair, _) = servers.pair();
    let mut compared = Compared::default();
    while compared.requests < count || generator.must_continue() {
        let step = generator.step();
        let (method, is_request) = match &step.what {
            StepAction::Call(request) => (request.operation(), true),
            StepAction::Watch(_) => ("WATCH".to_owned(), true),
            StepAction::Read(_) => ("READ".to_owned(), false),
            StepAction::Settle => ("SETTLE".to_owned(), false),
        };
        compared.requests += usize::from(is_request);
        let answer = match pair.step(&step).await.with_context(|| step.line())? {
            Ok(answer) => answer,
            Err(difference) => {
                let is_final = difference.is_final();
                let answer = difference.answer.clone();
                compared.differences.push(difference);
                if is_final {
                    return Ok(compared);
                }
                answer
            }
        };
        let status = answer["status"].as_u64().unwrap_or_default();
        *compared.tally.entry((method, status)).or_default() += 1;
        generator.learn(&step, &answer);
    }
    compared.differences.extend(pair.end().await?);
    Ok(compared)
}

/// The shortest sequence that still shows the difference.
///
/// # Errors
/// When a server does not answer at all.
pub async fn shortest(servers: &Servers, difference: Difference) -> Result<Difference> {
    let wanted = difference.signature();
    shrink::shortest(difference, async |steps: &[Step]| {
        let all = replay(servers, steps).await?;
        Ok(all.into_iter().find(|difference| difference.signature() == wanted))
    })
    .await
}

/// Runs these steps: each difference.
///
/// # Errors
/// When a server does not answer at all.
pub async fn replay(servers: &Servers, steps: &[Step]) -> Result<Vec<Difference>> {
    let (mut pair, _) = servers.pair();
    let mut differences = Vec::new();
    for step in steps.iter().filter(|step| step.id != usize::MAX) {
        if let Err(difference) = pair.step(step).await? {
            let is_final = difference.is_final();
            differences.push(difference);
            if is_final {
                return Ok(differences);
            }
        }
    }
    differences.extend(pair.end().await?);
    Ok(differences)
}

impl Servers {
    /// Both servers with namespaces of their own, and a handle of the one in memory.
    pub fn pair(&self) -> (Pair, ApiServer) {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let server = ApiServer::new(self.kinds.clone(), number.into(), kraken_runtime::clock::now);
        // No server remembers its first writes.
        server.compact();
        let controllers = tokio::spawn(server.run_controllers(number.into(), || {}));
        // Of the same length: it is part of messages that tell of lengths.
        let prefixes = [&*format!("m{number:05}-"), &*format!("r{number:05}-")];
        (Pair::new(server.client(), controllers, self.real.clone(), prefixes), server)
    }
}
