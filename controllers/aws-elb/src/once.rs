//! A name or a port that AWS gives out once. A create call for one that is taken may answer with what has it, if that was made
//! with the same settings: it could be anybody's, so whose it is decides.

use kraken_aws::{
    Aws,
    lookup::Tagged,
    single::Creation,
    tags::{self, CLUSTER, EPOCH, UID},
};
use kraken_spoke::{Failure, FailureClass};

use crate::tagged::{self, Listed};

/// The thing, if this very launch made it. `what` is what it has: "the name web".
pub(crate) fn ours<T: Tagged>(
    thing: T,
    creation: &Creation<'_>,
    action: &str,
    what: &str,
) -> Result<T, Failure> {
    let has = |key: &str| thing.tags().get(key) == creation.tags.get(key);
    if [CLUSTER, UID, EPOCH].into_iter().all(has) {
        return Ok(thing);
    }
    let holder = match tags::owner(thing.tags()) {
        Some(_) if has(CLUSTER) && has(UID) => {
            "which this resource made before: a replacement needs lifecycle.replace: DeleteFirst".to_owned()
        }
        Some(owner) if has(CLUSTER) => format!("which belongs to {}", owner.owner),
        Some(owner) => format!("which belongs to {} of another cluster", owner.owner),
        None => "which is not Kraken's: choose another one, or take it over with lifecycle.adopt".to_owned(),
    };
    Err(Failure {
        class: FailureClass::Terminal,
        action: action.to_owned(),
        code: String::new(),
        message: format!("{what} is taken by {}, {holder}", thing.id()),
    })
}

/// What a create call answered with, if this very launch made it: somebody may have been quicker by a moment.
pub(crate) async fn made_by_us<T: Listed>(
    aws: &Aws,
    made: T,
    creation: &Creation<'_>,
    action: &str,
    what: &str,
) -> Result<T, Failure> {
    match tagged::with_tags(aws, vec![made.clone()]).await?.pop() {
        Some(made) => ours(made, creation, action, what),
        None => Ok(made),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kraken_aws::Tags;
    use kraken_spoke::{Identity, Launch};

    #[derive(Clone, Debug)]
    struct Thing(Tags);

    impl Tagged for Thing {
        fn id(&self) -> &'static str {
            "arn:1"
        }
        fn tags(&self) -> &Tags {
            &self.0
        }
    }

    fn tags(cluster: &str, uid: &str, epoch: i64) -> Tags {
        let identity =
            Identity { cluster: cluster.into(), uid: uid.into(), owner: format!("Listener/ns/{uid}") };
        tags::identity_tags(&identity, epoch)
    }

    fn verdict(tags_of_holder: Tags) -> Result<(), String> {
        let (launch, tags) = (Launch { epoch: 2, token: "t".into() }, tags("c", "a", 2));
        let creation = Creation { tags: &tags, launch: &launch };
        ours(Thing(tags_of_holder), &creation, "failed to create", "port 80").map(drop).map_err(|failure| {
            assert_eq!(failure.class, FailureClass::Terminal);
            failure.message
        })
    }

    #[test]
    fn what_this_launch_made_is_ours_and_nothing_else() {
        assert_eq!(verdict(tags("c", "a", 2)), Ok(()));
        let refused = |tags, words: &str| {
            let message = verdict(tags).unwrap_err();
            assert!(message.starts_with("port 80 is taken by arn:1") && message.contains(words), "{message}");
        };
        refused(tags("c", "a", 1), "made before");
        refused(tags("c", "b", 2), "belongs to Listener/ns/b");
        refused(tags("d", "a", 2), "of another cluster");
        refused(Tags::new(), "not Kraken's");
    }
}
