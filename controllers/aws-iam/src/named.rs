//! Reads by name and by tag. The ARN of an IAM object contains its name, and no call filters by tag: a search by tag reads all
//! objects of the kind in the account.

use std::collections::BTreeSet;

use kraken_aws::{
    Aws,
    lookup::Tagged,
    lookup_kind::passing,
    missing::existing,
    resource::{Creation, DescribeQuery},
};
use kraken_kind::{Failure, FailureClass};

/// The number of objects that are read concurrently.
const AT_ONCE: usize = 8;
/// The maximum page size.
pub(crate) const PAGE: i32 = 1_000;
/// AWS's error for an object that does not exist.
pub(crate) const NOT_FOUND: &str = "NoSuchEntity";
/// AWS's error for a name in use.
const IN_USE: &str = "EntityAlreadyExists";

/// An IAM object.
pub(crate) trait Named: Tagged + Sync + 'static {
    /// The part of an ARN after the account: `:role/`.
    const ARN_PART: &'static str;
    /// What is unique, in words.
    const UNIQUE: &'static str = "name";
    /// The number of objects from which on a list costs less than reading each of them.
    const FEW: usize;

    /// The name, unique in the account regardless of the case and the path.
    fn name(&self) -> &str;
    /// Reads one object; none if it does not exist.
    fn get(aws: &Aws, arn: &str) -> impl Future<Output = Result<Option<Self>, Failure>> + Send;
    /// Lists all objects of the account.
    fn list(aws: &Aws) -> impl Future<Output = Result<Vec<Self>, Failure>> + Send;
    /// Reads what a list does not contain, such as the tags; none if the object does not exist any more.
    fn completed(self, aws: &Aws) -> impl Future<Output = Result<Option<Self>, Failure>> + Send;
}

/// The objects of a query of [`kraken_aws::AwsResource::read`].
pub(crate) async fn read<T: Named>(aws: &Aws, query: DescribeQuery) -> Result<Vec<T>, Failure> {
    let Some(arns) = query.ids else {
        return Ok(passing(query.filters.as_deref(), completed(aws, T::list(aws).await?).await?));
    };
    // An id that is not an ARN of the kind does not exist.
    let arns: BTreeSet<String> = arns.into_iter().filter(|arn| arn.contains(T::ARN_PART)).collect();
    if arns.len() < T::FEW {
        let each = arns.into_iter().map(|arn| async move { T::get(aws, &arn).await });
        return existing(AT_ONCE, each).await;
    }
    let mut listed = T::list(aws).await?;
    listed.retain(|object| arns.contains(object.id()));
    completed(aws, listed).await
}

async fn completed<T: Named>(aws: &Aws, objects: Vec<T>) -> Result<Vec<T>, Failure> {
    let each = objects.into_iter().map(|object| object.completed(aws));
    existing(AT_ONCE, each).await
}

/// The result of a create call. An error that the name is in use names its holder, unless this launch created it.
pub(crate) async fn created<T: Named, A>(
    aws: &Aws,
    name: &str,
    creation: &Creation<'_>,
    made: Result<A, Failure>,
) -> Result<A, Failure> {
    match made {
        Err(failure) if failure.code == IN_USE => {
            let mut holders: Vec<T> = T::list(aws).await?;
            holders.retain(|holder| holder.name().eq_ignore_ascii_case(name));
            let holders = completed(aws, holders).await?;
            Err(creation.is_taken(failure, &format!("the {} {name}", T::UNIQUE), &holders))
        }
        made => made,
    }
}

/// Nothing, if the object does not exist.
pub(crate) fn if_exists<T>(result: Result<T, Failure>) -> Result<Option<T>, Failure> {
    match result {
        Err(failure) if failure.code == NOT_FOUND => Ok(None),
        result => result.map(Some),
    }
}

/// A call that is not made before something else changes; observed again soon.
pub(crate) fn not_yet(action: &str, message: String) -> Failure {
    Failure { class: FailureClass::NotYet, action: action.to_owned(), code: String::new(), message }
}

/// The name in an ARN: `web` of `arn:aws:iam::123456789012:role/teams/web`. A name is its own.
pub(crate) fn name_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or(arn)
}

/// The methods of [`kraken_aws::AwsResource`] that differ only in the names of calls. `$tagged` is the setter of the id that
/// [`kraken_aws::resource::RemoteObject::tagged_as`] returns.
macro_rules! calls {
    ($observed:ty, $tagged:ident, $tag:ident = $tag_name:literal, $untag:ident = $untag_name:literal) => {
        async fn read(
            aws: &kraken_aws::Aws,
            query: kraken_aws::resource::DescribeQuery,
        ) -> Result<Vec<$observed>, kraken_kind::Failure> {
            crate::named::read(aws, query).await
        }

        async fn set_tags(
            aws: &kraken_aws::Aws,
            id: &str,
            tags: &kraken_aws::Tags,
        ) -> Result<(), kraken_kind::Failure> {
            let call = aws.iam().$tag().$tagged(id).set_tags(Some(crate::iam::to_sdk(tags)));
            aws.call($tag_name, "failed to set tags", call.send()).await.map(drop)
        }

        async fn remove_tags(
            aws: &kraken_aws::Aws,
            id: &str,
            keys: &[&str],
        ) -> Result<(), kraken_kind::Failure> {
            let keys = keys.iter().map(|key| (*key).to_owned()).collect();
            let call = aws.iam().$untag().$tagged(id).set_tag_keys(Some(keys));
            aws.call($untag_name, "failed to remove tags", call.send()).await.map(drop)
        }
    };
}
pub(crate) use calls;

#[cfg(test)]
mod tests {
    use kraken_aws::{Tags, resource::DescribeQuery, tags};
    use kraken_kind::{Identity, Launch};
    use parking_lot::Mutex;

    use super::*;

    /// An account with ten objects, of which only `web9` has tags, and its calls: the ARN of each that is read or completed.
    #[derive(Clone, Debug)]
    struct Object(String, Tags);

    static CALLS: Mutex<Vec<String>> = Mutex::new(vec![]);
    /// The tests share the calls.
    static ONE_AT_A_TIME: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

    fn arn(number: usize) -> String {
        format!("arn:aws:iam::123456789012:thing/Web{number}")
    }

    impl Tagged for Object {
        fn id(&self) -> &str {
            &self.0
        }
        fn tags(&self) -> &Tags {
            &self.1
        }
    }

    impl Named for Object {
        const ARN_PART: &'static str = ":thing/";
        const FEW: usize = 3;

        fn name(&self) -> &str {
            name_of(&self.0)
        }

        async fn get(_: &Aws, arn: &str) -> Result<Option<Self>, Failure> {
            CALLS.lock().push(format!("get {}", name_of(arn)));
            Ok((!arn.ends_with("gone")).then(|| Self(arn.to_owned(), Tags::new())))
        }

        async fn list(_: &Aws) -> Result<Vec<Self>, Failure> {
            CALLS.lock().push("list".to_owned());
            Ok((0..10).map(|number| Self(arn(number), Tags::new())).collect())
        }

        async fn completed(self, _: &Aws) -> Result<Option<Self>, Failure> {
            CALLS.lock().push(format!("complete {}", self.name()));
            let is_tagged = self.name() == "Web9";
            let tags = is_tagged.then(|| ("Team".to_owned(), "shop".to_owned()));
            Ok(Some(Self(self.0, tags.into_iter().collect())))
        }
    }

    /// The names of the objects that a query finds, and its calls.
    async fn found(query: DescribeQuery) -> (Vec<String>, Vec<String>) {
        let aws = kraken_aws::testing::aws("http://127.0.0.1:1").await;
        CALLS.lock().clear();
        let found = read::<Object>(&aws, query).await.unwrap();
        (found.iter().map(|object| object.name().to_owned()).collect(), std::mem::take(&mut CALLS.lock()))
    }

    fn ids(ids: &[&str]) -> DescribeQuery {
        let ids = ids.iter().map(|name| format!("arn:aws:iam::123456789012:thing/{name}")).collect();
        DescribeQuery { ids: Some(ids), filters: None }
    }

    #[tokio::test]
    async fn few_objects_are_read_one_by_one_and_many_from_a_list() {
        let _one = ONE_AT_A_TIME.lock().await;
        let (names, calls) = found(ids(&["Web1", "Web1", "gone"])).await;
        assert_eq!(
            (names, calls),
            (vec!["Web1".to_owned()], vec!["get Web1".to_owned(), "get gone".to_owned()])
        );
        let (names, calls) = found(ids(&["Web1", "Web2", "gone"])).await;
        assert_eq!(names, ["Web1", "Web2"]);
        assert_eq!(calls, ["list", "complete Web1", "complete Web2"]);
        let other = DescribeQuery {
            ids: Some(vec!["arn:aws:iam::123456789012:role/Web1".to_owned()]),
            filters: None,
        };
        assert_eq!(found(other).await, (vec![], vec![]));
    }

    #[tokio::test]
    async fn a_search_by_tag_reads_the_tags_of_all_objects() {
        let _one = ONE_AT_A_TIME.lock().await;
        let (names, calls) = found(DescribeQuery::with("tag:Team", "sh*")).await;
        assert_eq!((names, calls.len()), (vec!["Web9".to_owned()], 11));
        assert!(found(DescribeQuery::with("tag:Team", "web")).await.0.is_empty());
        assert_eq!(found(DescribeQuery { ids: None, filters: None }).await.0.len(), 10);
    }

    #[tokio::test]
    async fn the_holder_of_a_name_is_found_regardless_of_the_case() {
        let _one = ONE_AT_A_TIME.lock().await;
        let aws = kraken_aws::testing::aws("http://127.0.0.1:1").await;
        let identity = Identity { cluster: "c".into(), uid: "u".into(), owner: "Thing/ns/a".into() };
        let (tags, launch) = (tags::identity_tags(&identity, 1), Launch { epoch: 1, token: "t".into() });
        let creation = Creation { tags: &tags, launch: &launch };
        let refused = |code: &str| Failure {
            class: FailureClass::TokenUsed,
            action: "failed to create".into(),
            code: code.into(),
            message: String::new(),
        };
        let created = async |name: &str, code: &str| {
            created::<Object, ()>(&aws, name, &creation, Err(refused(code))).await.unwrap_err()
        };
        let failure = created("web1", IN_USE).await;
        assert_eq!(failure.class, FailureClass::Terminal);
        let start = format!("the name web1 is in use by {}, which is not managed by Kraken", arn(1));
        assert!(failure.message.starts_with(&start), "{failure}");
        // Of a former attempt of this launch, which is not visible yet.
        assert_eq!(created("other", IN_USE).await.class, FailureClass::TokenUsed);
        assert_eq!(created("web1", "LimitExceeded").await, refused("LimitExceeded"));
    }
}
