//! Groups whose desired state is a value in a canonical form of its own.

use super::{AwsGroup, Parts};
use crate::{resolved::Joined, validator::SpecValidator};

/// A group whose fields are compared as one value: for `parts` of [`crate::aws_kind`].
pub trait Canonical: AwsGroup {
    /// The canonical form: equivalent values are equal.
    type Form: Parts;

    /// The form of resolved values. Problems between them are recorded; `field` is the path of the group in the spec.
    fn form(desired: &Self::Desired, field: &str, validator: &mut SpecValidator<'_, '_>) -> Self::Form;
}

/// Resolves and validates a group, and converts it to its canonical form; `None` if one of its values has a problem.
pub fn canonical<G: Canonical>(
    field: &str,
    group: &G,
    validator: &mut SpecValidator<'_, '_>,
) -> Option<Joined<G::Form>> {
    let desired = group.desired(field, validator)?;
    Some(Joined::new(G::form(&desired, field, validator), G::is_secret(&desired)))
}
