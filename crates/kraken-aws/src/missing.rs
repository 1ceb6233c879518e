//! Handling of missing ids. AWS rejects a whole call because of one missing id, so the call is repeated without it: one
//! missing id does not hide others.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_kind::{Failure, runtime::hash::HashSet};

/// The maximum number of ids in one call.
pub const IDS_PER_CALL: usize = 1000;

/// Calls AWS for all ids, a thousand at a time, and omits those that do not exist.
///
/// # Errors
/// The first other failure.
pub async fn for_existing<T, F, R>(ids: &[String], mut call: F) -> Result<Vec<T>, Failure>
where
    F: FnMut(Vec<String>) -> R,
    R: Future<Output = Result<T, Failure>>,
{
    let mut answers = vec![];
    let mut left: Vec<Vec<String>> = ids.chunks(IDS_PER_CALL).rev().map(<[String]>::to_vec).collect();
    while let Some(ids) = left.pop() {
        match call(ids.clone()).await {
            Ok(answer) => answers.push(answer),
            Err(failure) if is_invalid_id(&failure) => left.extend(without_missing(ids, &failure.message)),
            Err(failure) => return Err(failure),
        }
    }
    Ok(answers)
}

/// What each of these calls returns, `at_once` of them at a time, without the objects that do not exist any more.
///
/// # Errors
/// The first failure.
pub async fn existing<T, F>(at_once: usize, calls: impl Iterator<Item = F>) -> Result<Vec<T>, Failure>
where
    F: Future<Output = Result<Option<T>, Failure>>,
{
    let found: Vec<Option<T>> = stream::iter(calls).buffered(at_once).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}

/// Whether AWS rejected a call because of a missing or malformed id.
pub fn is_invalid_id(failure: &Failure) -> bool {
    let code = failure.code.as_str();
    matches!(
        code,
        "InvalidID"
            | "NatGatewayNotFound"
            | "NatGatewayMalformed"
            | "LoadBalancerNotFound"
            | "TargetGroupNotFound"
            | "ListenerNotFound"
            | "RuleNotFound"
            | "InvalidAMIID.Unavailable"
            | "NoSuchEntity"
            | "ResourceNotFoundException"
            | "NoSuchHostedZone"
            | "NoSuchBucket"
            | "DBInstanceNotFound"
            | "DBParameterGroupNotFound"
            | "DBSubnetGroupNotFoundFault"
            | "QueueDoesNotExist"
            | "AWS.SimpleQueueService.NonExistentQueue"
            | "NotFound"
            | "ResourceNotFound"
            | "RepositoryNotFoundException"
            | "NotFoundException"
            | "TableNotFoundException"
    ) || code.starts_with("Invalid") && (code.ends_with(".NotFound") || code.ends_with(".Malformed"))
}

/// Nothing if AWS rejects the call because of a missing id: for a read, and for a call that is repeated while the object is observed.
///
/// # Errors
/// Any other failure.
pub fn or_nothing<T: Default>(result: Result<T, Failure>) -> Result<T, Failure> {
    match result {
        Err(failure) if is_invalid_id(&failure) => Ok(T::default()),
        result => result,
    }
}

/// Succeeds if AWS rejects the call with one of these codes, because the change was made already: the preceding
/// observation was stale.
///
/// # Errors
/// Any other failure.
pub fn ignore_codes<T>(result: Result<T, Failure>, codes: &[&str]) -> Result<(), Failure> {
    match result {
        Err(failure) if !codes.contains(&failure.code.as_str()) => Err(failure),
        _ => Ok(()),
    }
}

/// The remaining queries after such an error: all ids except those in the message. If it contains none of them, the ids
/// are split in halves until the missing one is isolated. Every query is smaller than the previous one, so this
/// terminates.
fn without_missing(ids: Vec<String>, message: &str) -> Vec<Vec<String>> {
    let named = named(message);
    let (missing, mut rest): (Vec<_>, Vec<_>) = ids.into_iter().partition(|id| named.contains(id.as_str()));
    if !missing.is_empty() {
        return if rest.is_empty() { vec![] } else { vec![rest] };
    }
    if rest.len() <= 1 {
        return vec![];
    }
    let half = rest.split_off(rest.len() / 2);
    vec![rest, half]
}

/// The ids in a message: every quoted text, whole and as a list, and every word in the format of an id. Other words do not
/// count: an existing key pair may be called `key`, and every error about a key pair contains that word.
fn named(message: &str) -> HashSet<&str> {
    let quoted = message.split(['\'', '"']).skip(1).step_by(2);
    let listed = |text| -> Vec<&str> {
        let bare = str::trim_matches(text, ['[', ']']);
        [text, bare].into_iter().chain(bare.split(',').map(str::trim)).collect()
    };
    let words = message.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-'));
    quoted.flat_map(listed).chain(words.filter(|word| is_an_id(word))).collect()
}

/// Whether it is a prefix, a dash and hexadecimal digits in the format of AWS ids: `nat-0abc1234def567890`.
fn is_an_id(word: &str) -> bool {
    let hexadecimal = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
    word.rsplit_once('-').is_some_and(|(prefix, digits)| {
        prefix.starts_with(|c: char| c.is_ascii_lowercase())
            && matches!(digits.len(), 8 | 17)
            && digits.chars().all(hexadecimal)
    })
}

#[cfg(test)]
mod tests {
    use kraken_kind::FailureClass;
    use proptest::prelude::*;

    use super::*;

    fn ids(list: &[&str]) -> Vec<String> {
        list.iter().map(|id| (*id).to_owned()).collect()
    }

    fn failure(code: &str, message: &str) -> Failure {
        Failure {
            class: FailureClass::NotYet,
            action: "failed to describe".into(),
            code: code.into(),
            message: message.into(),
        }
    }

    /// Responds like AWS for existing ids; `format_message` formats the message for missing ones. Counts the calls.
    async fn existing(
        all: &[String],
        exists: &[&str],
        format_message: fn(&[String]) -> String,
    ) -> (Vec<String>, usize) {
        let mut calls = 0;
        let results = for_existing(all, |requested| {
            calls += 1;
            let missing: Vec<_> =
                requested.iter().filter(|id| !exists.contains(&id.as_str())).cloned().collect();
            let refusal = failure("InvalidInstanceID.NotFound", &format_message(&missing));
            async move { if missing.is_empty() { Ok(requested) } else { Err(refusal) } }
        });
        let mut found: Vec<_> = results.await.unwrap().into_iter().flatten().collect();
        found.sort();
        (found, calls)
    }

    fn all_at_once(missing: &[String]) -> String {
        format!("The instance IDs '{}' do not exist", missing.join(", "))
    }

    fn one_at_a_time(missing: &[String]) -> String {
        format!("Invalid id: \"{}\" (expecting \"i-...\")", missing.first().map_or("", String::as_str))
    }

    fn none_at_all(_: &[String]) -> String {
        "Something does not exist".to_owned()
    }

    #[tokio::test]
    async fn missing_ids_reported_together_require_one_more_call() {
        let (found, calls) =
            existing(&ids(&["i-1", "i-12", "i-2", "i-3"]), &["i-12", "i-3"], all_at_once).await;
        assert_eq!((found, calls), (ids(&["i-12", "i-3"]), 2));
    }

    #[tokio::test]
    async fn missing_ids_reported_one_at_a_time_require_a_call_each() {
        let (found, calls) = existing(&ids(&["i-1", "i-2", "i-3"]), &["i-3"], one_at_a_time).await;
        assert_eq!((found, calls), (ids(&["i-3"]), 3));
    }

    #[tokio::test]
    async fn an_unreported_missing_id_is_found_by_bisection() {
        let all: Vec<String> = (0..64).map(|n| format!("i-{n}")).collect();
        let exists: Vec<&str> = all.iter().map(String::as_str).filter(|id| *id != "i-20").collect();
        let (found, calls) = existing(&all, &exists, none_at_all).await;
        assert_eq!(found.len(), 63);
        assert!(calls <= 14, "{calls} calls");
    }

    #[tokio::test]
    async fn an_existing_key_pair_called_key_is_found_with_a_missing_one() {
        let format_message = |missing: &[String]| {
            format!("The key pair '{}' does not exist", missing.first().map_or("", String::as_str))
        };
        let (found, _) = existing(&ids(&["key", "pair", "ops"]), &["key", "pair"], format_message).await;
        assert_eq!(found, ids(&["key", "pair"]));
    }

    #[test]
    fn ids_are_parsed_from_quoted_texts_lists_and_bare_words() {
        for (message, names) in [
            ("The key pair 'a b' does not exist", vec!["a b"]),
            ("The instance IDs 'i-1, i-2' do not exist", vec!["i-1", "i-2"]),
            ("The image id '[ami-1]' does not exist", vec!["ami-1"]),
            ("Load balancers '[arn:x/y, arn:z]' not found", vec!["arn:x/y", "arn:z"]),
            ("NatGateway nat-0abc1234def567890 was not found", vec!["nat-0abc1234def567890"]),
        ] {
            assert!(names.iter().all(|name| named(message).contains(name)), "{message}");
        }
        for word in ["NatGateway", "was", "not-found", "ec2-deadbee"] {
            assert!(!named("NatGateway ec2-deadbee was not-found").contains(word), "{word}");
        }
    }

    #[tokio::test]
    async fn no_ids_cause_no_call() {
        assert_eq!(existing(&[], &[], all_at_once).await, (vec![], 0));
    }

    #[tokio::test]
    async fn ids_are_queried_a_thousand_at_a_time() {
        let all: Vec<String> = (0..2001).map(|n| format!("i-{n}")).collect();
        let exists: Vec<&str> = all.iter().map(String::as_str).collect();
        let (found, calls) = existing(&all, &exists, all_at_once).await;
        assert_eq!((found.len(), calls), (2001, 3));
    }

    #[tokio::test]
    async fn other_failures_are_returned() {
        let one = ids(&["i-1"]);
        let answer = for_existing::<(), _, _>(&one, |_| async { Err(failure("Throttling", "slow down")) });
        assert_eq!(answer.await.unwrap_err().code, "Throttling");
        assert!(!is_invalid_id(&failure("InvalidParameterValue", "")));
        assert!(is_invalid_id(&failure("InvalidInstanceID.Malformed", "")));
    }

    proptest! {
        #[test]
        fn all_existing_ids_are_found_for_any_missing_ones(exists in proptest::collection::vec(any::<bool>(), 0..40), how in 0..3_usize) {
            let all: Vec<String> = (0..exists.len()).map(|n| format!("i-{n}")).collect();
            let there: Vec<&str> = all.iter().zip(&exists).filter(|(_, e)| **e).map(|(id, _)| id.as_str()).collect();
            let format_message = [all_at_once, one_at_a_time, none_at_all][how];
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            let (found, _) = runtime.block_on(existing(&all, &there, format_message));
            let mut wanted = ids(&there);
            wanted.sort();
            prop_assert_eq!(found, wanted);
        }
    }
}
