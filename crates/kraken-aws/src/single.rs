//! Kinds of which each resource is one thing of AWS: a VPC, a subnet, a listener. All that such kinds have in common is
//! here, so that one of them is its fields, how they differ, and its calls.

mod external;
mod reader;
mod tag_changes;

use std::{fmt::Debug, future::ready};

use aws_sdk_ec2::types::{Filter, ResourceType, TagSpecification};
use kraken_spoke::{
    Difference, Failure, FailureClass, Launch, OwnSecret, Resolver, SpokeKind, external::SpecOf,
};
use serde::Serialize;

pub use external::Managed;
pub use tag_changes::TagChange;

use crate::{
    Aws,
    lookup::Tagged,
    tags::{self, CLUSTER, Tags, UID},
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

    /// What it means that AWS refuses a name because it is taken, by `others` as far as they are visible: of a name that
    /// only this launch can have given, that the launch took place.
    pub fn name_is_taken<T: Tagged>(&self, refusal: Failure, others: &[T]) -> Failure {
        if others.iter().any(|other| !self.is_own(other.tags())) {
            return refusal;
        }
        Failure { class: FailureClass::TokenUsed, ..refusal }
    }

    /// A name for a thing that has to have one: the same for the same launch and no other, so that a second thing of this
    /// name is refused. 27 characters.
    pub fn name(&self) -> String {
        format!("kraken-{}", self.launch.token.chars().take(20).collect::<String>())
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
    fn tags(spec: &SpecOf<Managed<Self>>) -> &Tags
    where
        Self: Sized;

    /// Pure. How the two differ, tags apart.
    fn differences(desired: &Self::Desired, thing: &Self::Thing) -> Vec<Difference<Self::Change>>;

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
