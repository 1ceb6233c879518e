//! The controllers of Kubernetes that others rely on: the garbage collector and the namespace controller.
//!
//! Each performs one action at a time with a delay that the seed determines: deletions have any order, and other
//! requests can occur in between.

mod collector;
mod namespaces;

use std::{sync::Arc, time::Duration};

use futures::future::join;
use serde_json::Value;

use super::{ApiServer, state::Inner, uids::Uids};

/// A controller takes at most so long for one step.
const STEP: u64 = 250;

impl ApiServer {
    /// The garbage collector and the namespace controller. It never ends; drop it to stop them. `seed` determines the
    /// duration of each step and the order of deletions. `changed` is called after each step, before anything else happens.
    pub fn run_controllers<F: Fn() + Send + Sync>(
        &self,
        seed: u64,
        changed: F,
    ) -> impl Future<Output = ()> + Send + use<F> {
        let inner = self.0.clone();
        async move {
            let (first, second) = (Pace::new(seed), Pace::new(seed ^ 0x5eed));
            let collector = collector::run(inner.clone(), first, &changed);
            join(collector, namespaces::run(inner, second, &changed)).await;
        }
    }
}

/// How long steps take.
#[derive(Debug)]
struct Pace(Uids);

impl Pace {
    fn new(seed: u64) -> Self {
        Self(Uids::new(seed))
    }

    /// A pause before the next step.
    async fn pause(&mut self) {
        let pause = Duration::from_millis(self.0.below(STEP) + 1);
        tokio::time::sleep(pause).await;
    }

    /// Takes any one of them.
    fn take<T>(&mut self, all: &mut Vec<T>) -> Option<T> {
        let count = all.len() as u64;
        if count == 0 {
            return None;
        }
        let index = usize::try_from(self.0.below(count)).unwrap_or_default();
        Some(all.swap_remove(index))
    }
}

impl Inner {
    /// Waits for a change that this controller has not observed.
    async fn wait_for_change(self: &Arc<Self>, seen: &mut u64) {
        loop {
            let notified = self.changed.notified();
            let changes = self.state.lock().controller_changes;
            if changes != *seen {
                *seen = changes;
                return;
            }
            notified.await;
        }
    }
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_default()
}
