//! For the unit tests of spokes: creates an object from a spec in a simulated cloud, and imports it again.

#![allow(clippy::unwrap_used, clippy::panic)] // a panic fails the test

use std::time::Duration;

use kraken_kind::{
    Launch, Remedy, Resolver,
    import::{Found, Scope},
    options::Values,
};
use serde_json::Value;

use crate::{
    Aws, AwsResource, AwsSpec,
    lookup::Tagged,
    resource::{
        Change, Creation, DescribeQuery, DesiredWithTags, ObservedOf, Phase, RemoteObject, SpecOf, compare,
    },
    tags::Tags,
};

/// The most changes that a new object needs, and the most times that it is pending.
const MAX_TURNS: usize = 200;

/// The imported spec of an object that this spec creates, as another client would create it: without tags of Kraken.
pub async fn imported<S: AwsResource>(aws: &Aws, written: &Value) -> Found {
    let spec: SpecOf<S> = serde_json::from_value(written.clone()).unwrap();
    let values = Values::default();
    let mut resolver = Resolver::new(&values);
    let (own, tags) =
        spec.with_tags(&mut resolver).unwrap_or_else(|| panic!("{:?}", resolver.finish().problems));
    let desired = DesiredWithTags { own, tags };
    let id = created::<S>(aws, &desired).await;
    import::<S>(aws, &Scope::Account, &id).await
}

/// The imported spec of the object with this id.
pub async fn import<S: AwsResource>(aws: &Aws, scope: &Scope, id: &str) -> Found {
    let all = all::<S>(aws, scope).await;
    let ids: Vec<_> = all.iter().map(|found| found.id.clone()).collect();
    let found = all.into_iter().find(|found| found.id == id);
    found.unwrap_or_else(|| panic!("{id} is not among {ids:?}"))
}

/// Everything that an import finds.
pub async fn all<S: AwsResource>(aws: &Aws, scope: &Scope) -> Vec<Found> {
    super::import::<S>(aws, scope).await.unwrap().found
}

async fn created<S: AwsResource>(
    aws: &Aws,
    desired: &DesiredWithTags<crate::resource::DesiredOf<S>>,
) -> String {
    let launch = Launch { epoch: 1, token: format!("{:064x}", fastrand::u128(..)) };
    let tags: Tags = desired.tags.clone();
    let creation = Creation { tags: &tags, launch: &launch };
    let id = S::create(aws, &desired.own, &creation).await.unwrap().id().to_owned();
    for _ in 0..MAX_TURNS {
        let mut object = observed::<S>(aws, &id).await;
        S::complete(aws, &mut object, true).await.unwrap();
        let found = compare::<S>(desired, &[&object]);
        if found.differences.is_empty() && object.phase() == Phase::Available {
            return id;
        }
        for difference in found.differences {
            if let Remedy::Change(Change::Own(change, _)) = difference.remedy {
                // One that needs another first, or an object that is not ready, is made in a later turn.
                let _ = S::update(aws, &change, &desired.own, &object).await;
            }
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("{id} is not as its spec says");
}

async fn observed<S: AwsResource>(aws: &Aws, id: &str) -> ObservedOf<S> {
    let query = DescribeQuery { ids: Some(vec![id.to_owned()]), filters: None };
    S::read(aws, query).await.unwrap().remove(0)
}
