//! Calls that AWS rejects because of an existing object. The error does not say whether it is as desired already.

use kraken_aws::{
    lookup::Tagged,
    resource::{class_of_holder, is_replaced},
    tags,
};
use kraken_kind::Failure;

/// Succeeds if AWS rejects the call with this code and one of the objects `read` is as desired already.
pub(crate) async fn unless_made<T: Send, O>(
    result: Result<T, Failure>,
    code: &str,
    read: impl Future<Output = Result<Vec<O>, Failure>> + Send,
    is_made: impl Fn(&O) -> bool + Send,
) -> Result<(), Failure> {
    let Some(failure) = rejected(result, &[code])? else { return Ok(()) };
    if read.await?.iter().any(is_made) { Ok(()) } else { Err(failure) }
}

/// Succeeds if AWS rejects the call with one of these codes and `own` is the object that is in use already: the first one of `read`. If it
/// is another one, the error is `message` of its id and its owner, and requires that this one goes.
pub(crate) async fn unless_own<T: Send, O: Tagged>(
    result: Result<T, Failure>,
    codes: &[&str],
    own: &O,
    read: impl Future<Output = Result<Vec<O>, Failure>> + Send,
    message: impl Fn(&str) -> String + Send,
) -> Result<(), Failure> {
    let Some(failure) = rejected(result, codes)? else { return Ok(()) };
    match read.await?.first() {
        Some(object) if object.id() == own.id() => Ok(()),
        Some(other) => Err(held(failure, other, own, message)),
        None => Err(failure),
    }
}

/// The failure, if it has one of these codes.
fn rejected<T>(result: Result<T, Failure>, codes: &[&str]) -> Result<Option<Failure>, Failure> {
    match result {
        Ok(_) => Ok(None),
        Err(failure) if codes.contains(&&*failure.code) => Ok(Some(failure)),
        Err(failure) => Err(failure),
    }
}

/// The failure of an action on `own` that `holder` prevents, with `message` of its id and its owner. If that is a resource of the same
/// cluster, the action is possible when this one goes.
pub(crate) fn held<O: Tagged>(
    failure: Failure,
    holder: &O,
    own: &O,
    message: impl FnOnce(&str) -> String,
) -> Failure {
    let class = class_of_holder(holder.tags(), own.tags());
    let mut message = message(&format!("{}{}", holder.id(), tags::of_owner(holder.tags())));
    if is_replaced(holder.tags(), own.tags()) {
        message += "; this resource replaces it: set lifecycle.replace to DeleteFirst";
    }
    Failure { class, message, ..failure }
}

#[cfg(test)]
mod tests {
    use std::{
        future::ready,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use kraken_aws::Tags;
    use kraken_kind::FailureClass;

    use super::*;

    #[derive(Clone)]
    struct Gateway(&'static str, Tags);

    impl Tagged for Gateway {
        fn id(&self) -> &str {
            self.0
        }

        fn tags(&self) -> &Tags {
            &self.1
        }
    }

    /// The output of a future that waits for nothing.
    fn output<T>(future: impl Future<Output = T>) -> T {
        match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("the future waits"),
        }
    }

    fn failed(code: &str) -> Result<(), Failure> {
        Err(Failure {
            class: FailureClass::NotYet,
            action: "failed to attach".to_owned(),
            code: code.to_owned(),
            message: "it is in use".to_owned(),
        })
    }

    #[test]
    fn a_rejected_call_succeeds_if_the_object_is_as_desired() {
        let call =
            |result, found| output(unless_made(result, "InUse", ready(Ok(vec![found])), |is: &bool| *is));
        assert!(call(Ok(()), false).is_ok());
        assert!(call(failed("InUse"), true).is_ok());
        assert_eq!(call(failed("InUse"), false).unwrap_err().code, "InUse");
        assert_eq!(call(failed("Other"), true).unwrap_err().code, "Other");
    }

    /// The tags of the gateway of the resource `a`, whose UID is `u`, or of another one.
    fn tags_of(cluster: &str, uid: &str) -> Tags {
        let owner = if uid == "u" { "InternetGateway/ns/a" } else { "InternetGateway/ns/b" };
        let tags = [(tags::CLUSTER, cluster), (tags::UID, uid), (tags::OWNER, owner)];
        tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into()
    }

    #[test]
    fn another_object_is_reported_with_its_owner() {
        let own = Gateway("igw-1", tags_of("c", "u"));
        let call = |code, found: Vec<Gateway>| {
            let message = |other: &str| format!("vpc-1 has {other}");
            output(unless_own(failed(code), &["InUse"], &own, ready(Ok(found)), message))
        };
        assert!(call("InUse", vec![own.clone()]).is_ok());
        let other = call("InUse", vec![Gateway("igw-2", tags_of("c", "v"))]).unwrap_err();
        assert_eq!((other.class, other.code.as_str()), (FailureClass::InUse, "InUse"));
        assert_eq!(other.message, "vpc-1 has igw-2 of InternetGateway/ns/b");
        let unmanaged = call("InUse", vec![Gateway("igw-3", Tags::new())]).unwrap_err();
        assert_eq!(
            (unmanaged.class, unmanaged.message.as_str()),
            (FailureClass::Terminal, "vpc-1 has igw-3")
        );
        for (code, found) in [("InUse", vec![]), ("Other", vec![Gateway("igw-2", tags_of("c", "v"))])] {
            assert_eq!(call(code, found).unwrap_err().message, "it is in use");
        }
    }

    #[test]
    fn an_object_of_another_cluster_is_not_waited_for() {
        let own = Gateway("igw-1", tags_of("c", "u"));
        let class = |cluster, uid| {
            let holder = Gateway("igw-2", tags_of(cluster, uid));
            held(failed("InUse").unwrap_err(), &holder, &own, str::to_owned).class
        };
        assert_eq!(class("c", "v"), FailureClass::InUse);
        assert_eq!(class("other", "v"), FailureClass::Terminal);
    }

    #[test]
    fn a_replaced_object_has_the_advice_to_delete_it_first() {
        let [own, former] = ["igw-1", "igw-2"].map(|id| Gateway(id, tags_of("c", "u")));
        let failure = held(failed("InUse").unwrap_err(), &former, &own, |other| format!("vpc-1 has {other}"));
        assert_eq!(failure.class, FailureClass::Terminal);
        assert_eq!(
            failure.message,
            "vpc-1 has igw-2 of InternetGateway/ns/a; this resource replaces it: set lifecycle.replace to DeleteFirst"
        );
    }
}
