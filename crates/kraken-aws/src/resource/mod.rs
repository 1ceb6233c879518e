//! The layer for kinds of AWS. It implements their common parts, so that a kind consists of its fields, their comparison, and
//! its calls, which are an [`AwsResource`].

mod calls;
mod change;
mod compare;
mod creation;
mod group;
mod holder;
mod kind;
mod managed;
mod reader;
mod select;
mod spec;
mod tag_changes;

use std::fmt::Debug;

use aws_sdk_ec2::types::Filter;
use kube::core::object::HasSpec;
use serde::Serialize;
use serde_json::Value;

pub use calls::AwsResource;
pub use change::Change;
pub use compare::{DesiredWithTags, compare};
pub use creation::{Creation, is_generated_name};
pub use group::Group;
pub use holder::{class_of_holder, in_use, is_replaced};
pub use kind::{ManagedKind, observed};
pub use managed::Managed;
pub(crate) use reader::Reader;
pub use spec::AwsSpec;
pub use tag_changes::{TagChange, remove_all as remove_tags_of_all, set_all as set_tags_of_all};

use crate::lookup::Tagged;

/// The lifecycle phase of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Phase {
    /// It exists and is ready.
    Available,
    /// It is in a transitional state; the text is AWS's state: "pending".
    Pending(String),
    /// Its creation failed; the text is the cause.
    Failed(String),
    /// It is being deleted.
    Deleting,
    /// It is deleted, and still returned by AWS.
    Deleted,
}

/// An AWS object as plain data. Its serialized form is the published state: an allow-list of fields with AWS's names.
pub trait RemoteObject: Tagged + Serialize + Debug + Sync + 'static {
    /// Its phase. Most objects are ready as soon as they are created.
    fn phase(&self) -> Phase {
        Phase::Available
    }

    /// The fields of the published state that dependents can use while the object is [pending](Phase::Pending), such as the records that
    /// validate a certificate. They are published without the main id. By default none: nothing is published before.
    fn pending_state(&self) -> Option<Value> {
        None
    }

    /// The id for tagging, if it differs from the id.
    fn tagged_as(&self) -> &str {
        self.id()
    }

    /// Its index among the objects of its launch, by which they are ordered.
    fn launch_index(&self) -> i32 {
        0
    }
}

/// A query: the objects with these ids, or those that match these filters; never both.
#[derive(Clone, Debug)]
pub struct DescribeQuery {
    /// The ids.
    pub ids: Option<Vec<String>>,
    /// EC2 filters.
    pub filters: Option<Vec<Filter>>,
}

/// The spec of a kind.
pub type SpecOf<S> = <<S as AwsResource>::Kind as HasSpec>::Spec;
/// The desired state of a kind.
pub type DesiredOf<S> = <SpecOf<S> as AwsSpec>::Desired;
/// The observed object of a kind.
pub type ObservedOf<S> = <SpecOf<S> as AwsSpec>::Observed;
/// The changes in place of a kind.
pub type ChangeOf<S> = <SpecOf<S> as AwsSpec>::Change;
