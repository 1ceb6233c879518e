//! Names and ports that must be unique. A create call for one in use may return the existing object, if it has the same
//! settings. It may belong to another owner, so its owner is checked.

use kraken_aws::{
    Aws,
    errors::{terminal, undecided},
    fields::shown,
    lookup::Tagged,
    missing::or_nothing,
    resolved::exposed,
    resource::{Creation, in_use},
    tags::{CLUSTER, EPOCH, UID},
};
use kraken_kind::{Failure, FailureClass, Resolved};

use crate::tagged::{self, Listed, Selection};

/// The object, if this launch created it. `what` is the unique value: "the name web".
fn ours<T: Tagged>(object: T, creation: &Creation<'_>, action: &str, what: &str) -> Result<T, Failure> {
    // Not `has_created`: an import compares specs by creations without tags of Kraken.
    let has = |key: &str| object.tags().get(key) == creation.tags.get(key);
    if [CLUSTER, UID, EPOCH].into_iter().all(has) {
        return Ok(object);
    }
    Err(in_use(terminal(action, ""), what, &object, creation.tags))
}

/// Interprets AWS's error that a value is in use by one of these objects, if they are visible: success, if it is the object
/// itself. Otherwise it is an error with that object, because no launch of this resource uses the value.
pub(crate) async fn unless_own<T: Listed>(
    aws: &Aws,
    holders: Vec<T>,
    own: &T,
    refusal: Failure,
    what: &str,
) -> Result<(), Failure> {
    if holders.iter().any(|holder| holder.id() == own.id()) {
        return Ok(());
    }
    let refusal = Failure { class: FailureClass::Terminal, ..refusal };
    Err(match tagged::with_tags(aws, holders).await.as_deref() {
        Ok([object, ..]) => in_use(refusal, what, object, own.tags()),
        _ => refusal,
    })
}

/// The object in the response of a create call, if this launch created it: another launch may have created it first.
///
/// # Errors
/// Always [`FailureClass::Transient`]: the create call succeeded, so the launch must never count as rejected. The
/// observation before the next call determines the owner, with the tags that were not readable here.
async fn made_by_us<T: Listed>(
    aws: &Aws,
    made: T,
    creation: &Creation<'_>,
    action: &str,
    what: &str,
) -> Result<T, Failure> {
    let found = tagged::with_tags(aws, vec![made.clone()]).await.map_err(undecided)?;
    match found.into_iter().next() {
        Some(made) => ours(made, creation, action, what).map_err(undecided),
        None => Ok(made),
    }
}

async fn named<T: Listed>(aws: &Aws, name: &str) -> Result<Vec<T>, Failure> {
    let names = Some(vec![name.to_owned()]);
    or_nothing(T::describe(aws, Selection { names, ..Selection::default() }).await)
}

/// The name in a create call: the desired one, or a generated one.
pub(crate) fn name(desired: Option<&Resolved<String>>, creation: &Creation<'_>) -> String {
    exposed(desired).unwrap_or_else(|| creation.name())
}

/// Creates an object with [`name`], unless this launch created it before. `objects` takes it from the response.
pub(crate) async fn create<T: Listed + From<S>, S, A>(
    aws: &Aws,
    desired: Option<&Resolved<String>>,
    creation: &Creation<'_>,
    action: &str,
    call: impl Future<Output = Result<A, Failure>> + Send,
    objects: impl FnOnce(A) -> Option<Vec<S>> + Send,
) -> Result<T, Failure> {
    if let Some(name) = desired {
        let what = format!("the name {}", shown(name));
        let holders = named(aws, name.expose()).await?;
        return create_unless(aws, holders, creation, action, &what, call, objects).await;
    }
    match call.await {
        // Only this launch can have used such a name, even if settings and tags changed since.
        Err(failure) if failure.class == FailureClass::TokenUsed => {
            let found = named(aws, &creation.name()).await.unwrap_or_default();
            tagged::with_tags(aws, found).await.unwrap_or_default().pop().ok_or(failure)
        }
        made => Ok(first::<_, T>(objects(made?)).with_tags(creation.tags.clone())),
    }
}

/// The same for an object with a unique value of another kind, `what`, which these objects have.
pub(crate) async fn create_unless<T: Listed + From<S>, S, A>(
    aws: &Aws,
    holders: Vec<T>,
    creation: &Creation<'_>,
    action: &str,
    what: &str,
    call: impl Future<Output = Result<A, Failure>> + Send,
    objects: impl FnOnce(A) -> Option<Vec<S>> + Send,
) -> Result<T, Failure> {
    match tagged::with_tags(aws, holders).await?.pop() {
        Some(object) => ours(object, creation, action, what),
        None => made_by_us(aws, first(objects(call.await?)), creation, action, what).await,
    }
}

fn first<S, T: From<S> + Default>(made: Option<Vec<S>>) -> T {
    made.unwrap_or_default().into_iter().next().map(T::from).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kraken_aws::{
        Tags,
        tags::{self, OWNER},
    };
    use kraken_kind::{Identity, Launch};

    use super::*;

    #[derive(Clone, Debug)]
    struct RemoteObject(Tags);

    impl Tagged for RemoteObject {
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

    fn verdict(tags_of_holder: Tags) -> Result<(), (FailureClass, String)> {
        let (launch, tags) = (Launch { epoch: 2, token: "t".into() }, tags("c", "a", 2));
        let creation = Creation { tags: &tags, launch: &launch };
        let verdict = ours(RemoteObject(tags_of_holder), &creation, "failed to create", "port 80");
        verdict.map(drop).map_err(|failure| (failure.class, failure.message))
    }

    #[test]
    fn only_an_object_of_this_launch_is_owned() {
        assert_eq!(verdict(tags("c", "a", 2)), Ok(()));
        let refused = |tags, expected, words: &str| {
            let (class, message) = verdict(tags).unwrap_err();
            assert_eq!(class, expected, "{message}");
            assert!(
                message.starts_with("port 80 is in use by arn:1") && message.contains(words),
                "{message}"
            );
        };
        let terminal = FailureClass::Terminal;
        refused(tags("c", "a", 1), terminal, "which this resource replaces");
        refused(tags("c", "b", 2), FailureClass::InUse, "belongs to Listener/ns/b");
        refused(tags("d", "a", 2), terminal, "of another cluster");
        let mut earlier = tags("c", "z", 2);
        earlier.insert(OWNER.to_owned(), "Listener/ns/a".to_owned());
        refused(earlier, terminal, "an earlier Listener/ns/a left behind, with UID z");
        refused(Tags::new(), terminal, "not managed by Kraken");
    }
}
