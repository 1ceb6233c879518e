//! The simulators of this process that are served over HTTP, and the texts in their calls that everyone with permission to describe the
//! objects of a cloud can read: names, descriptions and tags.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::shared::Shared;

/// The simulators that controllers can call over HTTP.
static SERVED: Mutex<Vec<Weak<Shared>>> = Mutex::new(Vec::new());

/// Adds a simulator to those of [`public_texts`], for as long as it exists.
pub(super) fn register(shared: &Arc<Shared>) {
    let mut served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
    served.retain(|one| one.strong_count() > 0);
    served.push(Arc::downgrade(shared));
}

/// The names, descriptions and tags in all calls to the simulators of this process that are served over HTTP, including calls that were
/// rejected. Names of load balancers and key pairs are included.
pub fn public_texts() -> Vec<String> {
    let served: Vec<Arc<Shared>> = {
        let served = SERVED.lock().unwrap_or_else(PoisonError::into_inner);
        served.iter().filter_map(Weak::upgrade).collect()
    };
    let mut texts = vec![];
    for shared in served {
        texts.extend(shared.lock().public.iter().cloned());
    }
    texts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Simulator, SimulatorOptions, http};

    #[tokio::test]
    async fn the_calls_of_every_served_simulator_are_listed_until_it_ends() {
        let simulator = Simulator::start(SimulatorOptions::default()).unwrap();
        let fields = [
            ("Action", "CreateTags"),
            ("Version", "2016-11-15"),
            ("ResourceId.1", "vpc-0"), // rejected, and seen nevertheless
            ("Tag.1.Key", "public-tag-of-this-test"),
        ];
        http::post_form(simulator.endpoint(), &[], &fields).await.unwrap();
        let listed = || public_texts().iter().any(|text| text == "public-tag-of-this-test");
        assert!(listed());
        drop(simulator);
        assert!(!listed());
    }
}
