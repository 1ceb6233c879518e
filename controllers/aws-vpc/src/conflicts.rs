//! Calls that AWS rejects because of an existing object. The error does not say whether it is as desired already.

use kraken_aws::{Tags, lookup::Tagged, tags};
use kraken_spoke::{Failure, FailureClass};

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

/// Succeeds if AWS rejects the call with one of these codes and `own` is the id of the object that is in use already: the
/// first one of `read`. If it is another one, the error is `message` of its id and its owner, and requires that this one goes.
pub(crate) async fn unless_own<T: Send, O: Tagged>(
    result: Result<T, Failure>,
    codes: &[&str],
    own: &str,
    read: impl Future<Output = Result<Vec<O>, Failure>> + Send,
    message: impl Fn(&str) -> String + Send,
) -> Result<(), Failure> {
    let Some(failure) = rejected(result, codes)? else { return Ok(()) };
    match read.await?.first() {
        Some(object) if object.id() == own => Ok(()),
        Some(other) => {
            let message = message(&with_owner(other.id(), other.tags()));
            Err(held(other.tags(), Failure { message, ..failure }))
        }
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

/// The failure of an action that an object with these tags prevents: if it belongs to a resource, until that goes.
pub(crate) fn held(tags: &Tags, failure: Failure) -> Failure {
    let is_owned = tags::owner(tags).is_some();
    let class = if is_owned { FailureClass::InUse } else { FailureClass::Terminal };
    Failure { class, ..failure }
}

/// An id, and the resource that owns the object.
pub(crate) fn with_owner(id: &str, tags: &Tags) -> String {
    format!("{id}{}", tags::of_owner(tags))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        future::ready,
        pin::pin,
        task::{Context, Poll, Waker},
    };

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

    #[test]
    fn another_object_is_reported_with_its_owner() {
        let call = |code, found: Vec<Gateway>| {
            let message = |other: &str| format!("vpc-1 has {other}");
            output(unless_own(failed(code), &["InUse"], "igw-1", ready(Ok(found)), message))
        };
        let tags = [(tags::CLUSTER, "c"), (tags::UID, "u"), (tags::OWNER, "InternetGateway/ns/a")];
        let tags: Tags = tags.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert!(call("InUse", vec![Gateway("igw-1", tags.clone())]).is_ok());
        let other = call("InUse", vec![Gateway("igw-2", tags.clone())]).unwrap_err();
        assert_eq!((other.class, other.code.as_str()), (FailureClass::InUse, "InUse"));
        assert_eq!(other.message, "vpc-1 has igw-2 of InternetGateway/ns/a");
        let foreign = call("InUse", vec![Gateway("igw-3", Tags::new())]).unwrap_err();
        assert_eq!((foreign.class, foreign.message.as_str()), (FailureClass::Terminal, "vpc-1 has igw-3"));
        for (code, found) in [("InUse", vec![]), ("Other", vec![Gateway("igw-2", tags)])] {
            assert_eq!(call(code, found).unwrap_err().message, "it is in use");
        }
    }
}
