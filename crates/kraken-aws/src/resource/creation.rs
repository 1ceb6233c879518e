//! The parameters of a create call, and whose object has a name that is in use. Pure.

use aws_sdk_ec2::types::{ResourceType, TagSpecification};
use kraken_kind::{Failure, FailureClass, Launch};

use crate::{
    lookup::Tagged,
    resource::holder::in_use,
    tags::{self, CLUSTER, EPOCH, OWNER, Tags, UID},
};

/// The prefix of generated names, and the number of digits of the launch's token in them.
const GENERATED_NAME_PREFIX: &str = "kraken-";
const GENERATED_NAME_DIGITS: usize = 20;

/// Whether a name has the format of [`Creation::name`].
pub fn is_generated_name(name: &str) -> bool {
    name.strip_prefix(GENERATED_NAME_PREFIX).is_some_and(|digits| {
        digits.len() == GENERATED_NAME_DIGITS && digits.chars().all(|c| c.is_ascii_hexdigit())
    })
}

/// The parameters of every create call.
#[derive(Clone, Debug)]
pub struct Creation<'a> {
    /// All tags, Kraken's and the user's.
    pub tags: &'a Tags,
    /// The launch, with the token for APIs that accept one.
    pub launch: &'a Launch,
}

impl Creation<'_> {
    /// The tags as EC2 tag specifications.
    pub fn specifications(&self, kind: ResourceType) -> Vec<TagSpecification> {
        tags::specifications(&[kind], self.tags)
    }

    /// Whether an object with these tags was created for the same resource.
    pub fn is_own(&self, tags: &Tags) -> bool {
        [CLUSTER, UID].iter().all(|key| self.tags.get(*key).is_some_and(|own| tags.get(*key) == Some(own)))
    }

    /// Interprets AWS's error that `what`, such as "the name web", is in use. `others` are the visible objects that use
    /// it. If no object of another launch uses it, this launch succeeded before.
    pub fn is_taken<T: Tagged>(&self, refusal: Failure, what: &str, others: &[T]) -> Failure {
        let Some(other) = others.iter().find(|other| !self.has_created(other.tags())) else {
            return Failure { class: FailureClass::TokenUsed, ..refusal };
        };
        in_use(refusal, what, other, self.tags)
    }

    /// Whether an object with these tags was created by this launch.
    pub fn has_created(&self, tags: &Tags) -> bool {
        self.is_own(tags) && tags.get(EPOCH) == self.tags.get(EPOCH)
    }

    /// Whether the owner in these tags is this resource, or one of the same kind, namespace and name in this cluster that does not exist any
    /// more: there is only one of a name.
    pub fn is_of_same_name(&self, tags: &Tags) -> bool {
        let is_same = |key: &&str| self.tags.get(*key).is_some_and(|own| tags.get(*key) == Some(own));
        // The end of a long name is not in its tag.
        let is_whole = self.tags.get(OWNER).is_some_and(|owner| !owner.ends_with(tags::SHORTENED));
        self.is_own(tags) || is_whole && [CLUSTER, OWNER].iter().all(is_same)
    }

    /// A generated name for an object that requires one. It is unique for each launch, so that AWS rejects a second
    /// object. 27 characters.
    pub fn name(&self) -> String {
        format!(
            "{GENERATED_NAME_PREFIX}{}",
            self.launch.token.chars().take(GENERATED_NAME_DIGITS).collect::<String>()
        )
    }
}

#[cfg(test)]
mod tests;
