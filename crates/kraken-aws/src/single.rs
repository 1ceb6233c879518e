//! Kinds of which each resource is one thing of AWS: a VPC, a subnet, a listener. All that such kinds have in common is
//! here, so that one of them is its fields, how they differ, and its calls.

mod external;
mod reader;
mod tag_changes;

use std::{fmt::Debug, future::ready};

use aws_sdk_ec2::types::{Filter, ResourceType, TagSpecification};
use kraken_spoke::{
    Difference, Failure, FailureClass, Ignored, Launch, OwnSecret, Resolver, SpokeKind, external::SpecOf,
};
use serde::Serialize;

pub use external::Managed;
pub use tag_changes::TagChange;

use crate::{
    Aws,
    lookup::Tagged,
    tags::{self, CLUSTER, EPOCH, TagOptions, Tags, UID},
};

/// Where in its life a thing is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It is there.
    Up,
    /// AWS is still at work on it, said as what it is: "pending".
    Settling(String),
    /// AWS could not make it; the text says why.
    Failed(String),
    /// On its way out.
    Leaving,
    /// Gone, and still shown.
    Gone,
}

/// A thing of AWS as plain data: serialized it is what others may refer to, an allow-list in AWS's spelling.
pub trait Thing: Tagged + Serialize + Debug + Sync + 'static {
    /// Where in its life it is. Most things are there as soon as they are made.
    fn phase(&self) -> Phase {
        Phase::Up
    }

    /// What its tags are set on, if AWS has another id for that.
    fn tagged_as(&self) -> &str {
        self.id()
    }
}

/// What names begin with that Kraken makes, and how many digits of the launch's token follow.
const MADE_NAME: &str = "kraken-";
const MADE_DIGITS: usize = 20;

/// Whether a name looks like one of [`Creation::name`].
pub fn is_made_name(name: &str) -> bool {
    name.strip_prefix(MADE_NAME)
        .is_some_and(|digits| digits.len() == MADE_DIGITS && digits.chars().all(|c| c.is_ascii_hexdigit()))
}

/// What a create call has to carry.
#[derive(Clone, Debug)]
pub struct Creation<'a> {
    /// Every tag, Kraken's own and the user's.
    pub tags: &'a Tags,
    /// The launch, whose token goes where the API takes one.
    pub launch: &'a Launch,
}

impl Creation<'_> {
    /// The tags as EC2 wants them.
    pub fn specifications(&self, kind: ResourceType) -> Vec<TagSpecification> {
        tags::specifications(&[kind], self.tags)
    }

    /// Whether a thing with these tags was made for the same resource.
    fn is_own(&self, tags: &Tags) -> bool {
        [CLUSTER, UID].iter().all(|key| self.tags.get(*key).is_some_and(|own| tags.get(*key) == Some(own)))
    }

    /// What it means that AWS refuses `what`, such as "the name web", because it is taken: by `others`, as far as they are
    /// visible. If no other can have taken it, the launch took place.
    pub fn is_taken<T: Tagged>(&self, refusal: Failure, what: &str, others: &[T]) -> Failure {
        let Some(other) = others.iter().find(|other| !self.made(other.tags())) else {
            return Failure { class: FailureClass::TokenUsed, ..refusal };
        };
        Failure { class: FailureClass::Terminal, message: self.taken(what, other), ..refusal }
    }

    /// Whether a resource with these tags was created by this very launch.
    pub fn made(&self, tags: &Tags) -> bool {
        self.is_own(tags) && tags.get(EPOCH) == self.tags.get(EPOCH)
    }

    /// Who has what this launch wants to have, and what to do about it.
    fn taken<T: Tagged>(&self, what: &str, other: &T) -> String {
        let holder = match tags::owner(other.tags()) {
            Some(_) if self.is_own(other.tags()) => {
                "which this resource replaces: set lifecycle.replace to DeleteFirst, or change what they have in common"
                    .to_owned()
            }
            Some(owner) if other.tags().get(CLUSTER) == self.tags.get(CLUSTER) => {
                format!("which belongs to {}", owner.owner)
            }
            Some(owner) => format!("which belongs to {} of another cluster", owner.owner),
            None => "which is not managed by Kraken: choose another one, or adopt it with lifecycle.adopt".to_owned(),
        };
        format!("{what} is taken by {}, {holder}", other.id())
    }

    /// A name for a thing that has to have one: the same for the same launch and no other, so that a second thing of this
    /// name is refused. 27 characters.
    pub fn name(&self) -> String {
        format!("{MADE_NAME}{}", self.launch.token.chars().take(MADE_DIGITS).collect::<String>())
    }
}

/// What is read: all with these ids, or all that pass these filters; never both.
#[derive(Clone, Debug)]
pub struct Question {
    /// The ids.
    pub ids: Option<Vec<String>>,
    /// EC2's filters.
    pub filters: Option<Vec<Filter>>,
}

/// A kind of which each resource is one thing of AWS. [`Managed`] makes an [`kraken_spoke::External`] of it.
pub trait Single: Send + Sync + 'static {
    /// The custom resource.
    type Kind: SpokeKind;
    /// As [`kraken_spoke::External::Desired`].
    type Desired: Debug + Send + Sync + 'static;
    /// What AWS has.
    type Thing: Thing;
    /// As [`kraken_spoke::External::Change`].
    type Change: Debug + Send + Sync + 'static;

    /// The thing in words, after "1": "VPC".
    const NOUN: &'static str;
    /// Where the state has it: `vpc`, for references like `vpc.CidrBlock`.
    const STATE_KEY: &'static str;
    /// As [`kraken_spoke::External::IS_IDEMPOTENT`]: by a token, or because AWS takes a name only once ([`Creation::name`]).
    const IS_IDEMPOTENT: bool = false;
    /// As [`kraken_spoke::External::IDEMPOTENT_BY_NAME`].
    const IDEMPOTENT_BY_NAME: bool = false;
    /// As [`kraken_spoke::External::DRIFT_PATHS`].
    const DRIFT_PATHS: &[&str] = &[];
    /// As [`kraken_spoke::External::SECRET_ECHOES`].
    const SECRET_ECHOES: &[(&str, &[&str])] = &[];
    /// As [`kraken_spoke::External::SUMMARY`].
    const SUMMARY: &[(&str, &str)] = &[];

    /// Pure. As [`kraken_spoke::External::desired`].
    fn desired(spec: &SpecOf<Managed<Self>>, values: &mut Resolver<'_>) -> Option<Self::Desired>
    where
        Self: Sized;

    /// As [`kraken_spoke::External::MAKES_SECRETS`].
    const MAKES_SECRETS: bool = false;

    /// Pure. As [`kraken_spoke::External::own_secret`].
    fn own_secret(_: &SpecOf<Managed<Self>>) -> Option<OwnSecret>
    where
        Self: Sized,
    {
        None
    }

    /// Pure. The user's tags; checked and compared for the kind.
    fn tags(spec: &SpecOf<Managed<Self>>) -> &TagOptions
    where
        Self: Sized;

    /// Pure. How the two differ, tags apart.
    fn differences(desired: &Self::Desired, thing: &Self::Thing) -> Vec<Difference<Self::Change>>;

    /// As [`kraken_spoke::External::WHOLE_PATHS`].
    const WHOLE_PATHS: &[&str] = &[];

    /// Pure. As [`kraken_spoke::External::without_ignored`].
    fn without_ignored(_: &Self::Desired, _: &Self::Thing, _: &Ignored) -> Option<Self::Desired> {
        None
    }

    /// Pure. As [`kraken_spoke::External::at_creation`].
    fn at_creation(_: &Self::Desired) -> Vec<(&'static str, String)> {
        vec![]
    }

    /// Pure. As [`kraken_spoke::External::needs_deep_look`].
    fn needs_deep_look(_: &Self::Desired) -> bool {
        false
    }

    /// Reads, following every page.
    fn read(aws: &Aws, question: Question) -> impl Future<Output = Result<Vec<Self::Thing>, Failure>> + Send;

    /// Reads what no batch has and costs a call per thing; `deep` as in [`kraken_spoke::Look::deep`].
    fn complete(
        _: &Aws,
        _: &mut Self::Thing,
        _deep: bool,
    ) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Creates it, with all of the creation's tags in the same call, by [`Aws::ec2_once`] or [`Aws::elb_once`].
    fn create(
        aws: &Aws,
        desired: &Self::Desired,
        creation: &Creation<'_>,
    ) -> impl Future<Output = Result<Self::Thing, Failure>> + Send;

    /// Carries out one change.
    fn update(
        aws: &Aws,
        change: &Self::Change,
        desired: &Self::Desired,
        thing: &Self::Thing,
    ) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Pure. As [`kraken_spoke::External::unprotected_by`].
    fn unprotected_by(_: &SpecOf<Managed<Self>>) -> Option<&'static str>
    where
        Self: Sized,
    {
        None
    }

    /// Turns AWS's own protection of a thing against deletion off, as [`kraken_spoke::External::unprotect`].
    fn unprotect(_: &Aws, _: &Self::Thing) -> impl Future<Output = Result<(), Failure>> + Send {
        ready(Ok(()))
    }

    /// Asks for its deletion. What does not exist any more is left out before.
    fn delete(aws: &Aws, thing: &Self::Thing) -> impl Future<Output = Result<(), Failure>> + Send;

    /// Sets tags on a thing.
    fn set_tags(aws: &Aws, id: &str, tags: &Tags) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::set(aws, id, tags)
    }

    /// Takes tags off a thing.
    fn remove_tags(aws: &Aws, id: &str, keys: &[&str]) -> impl Future<Output = Result<(), Failure>> + Send {
        tag_changes::remove(aws, id, keys)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone)]
    struct Named(String, Tags);

    impl Tagged for Named {
        fn id(&self) -> &str {
            &self.0
        }
        fn tags(&self) -> &Tags {
            &self.1
        }
    }

    fn tags(cluster: &str, uid: &str, epoch: &str) -> Tags {
        let owner = (tags::OWNER.to_owned(), format!("SecurityGroup/ns/{uid}"));
        let rest = [(CLUSTER, cluster), (UID, uid), (EPOCH, epoch)];
        rest.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).chain([owner]).collect()
    }

    fn refused(holder: Option<Tags>) -> (FailureClass, String) {
        let launch = Launch { epoch: 2, token: "t".into() };
        let tags = tags("c", "u", "2");
        let creation = Creation { tags: &tags, launch: &launch };
        let refusal = Failure {
            class: FailureClass::Terminal,
            action: "a".into(),
            code: "InvalidGroup.Duplicate".into(),
            message: "AWS's".into(),
        };
        let others: Vec<Named> = holder.into_iter().map(|tags| Named("sg-1".into(), tags)).collect();
        let failure = creation.is_taken(refusal, "the name web", &others);
        (failure.class, failure.message)
    }

    #[test]
    fn what_only_this_launch_can_have_taken_says_that_it_took_place() {
        assert_eq!(refused(None).0, FailureClass::TokenUsed);
        assert_eq!(refused(Some(tags("c", "u", "2"))).0, FailureClass::TokenUsed);
    }

    #[test]
    fn a_name_of_what_is_replaced_is_refused_for_good_with_what_to_do() {
        let (class, message) = refused(Some(tags("c", "u", "1")));
        assert_eq!(class, FailureClass::Terminal);
        assert!(
            message.starts_with("the name web is taken by sg-1, which this resource replaces"),
            "{message}"
        );
        assert!(message.contains("DeleteFirst"), "{message}");
    }

    #[test]
    fn a_name_of_somebody_else_is_refused_with_whose_it_is() {
        for (holder, words) in [
            (tags("c", "v", "2"), "belongs to SecurityGroup/ns/v"),
            (tags("d", "u", "2"), "of another cluster"),
            (Tags::new(), "not managed by Kraken"),
        ] {
            let (class, message) = refused(Some(holder));
            assert!(class == FailureClass::Terminal && message.contains(words), "{message}");
        }
    }
}
