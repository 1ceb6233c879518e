//! Values whose type is known only to their kind.

use std::{any::Any, fmt, marker::PhantomData, sync::Arc};

/// A type that a kind can use for a desired state, an observed object, or a change.
pub trait Payload: Any + fmt::Debug + Send + Sync {}
impl<T: Any + fmt::Debug + Send + Sync> Payload for T {}

/// A value whose type is known only to its kind; `Role` states its purpose. Its `Debug` is that of the value.
pub struct Opaque<Role>(Arc<dyn Payload>, PhantomData<fn() -> Role>);

/// The role of a desired state.
#[derive(Debug)]
pub enum IsDesired {}
/// The role of an observed object.
#[derive(Debug)]
pub(super) enum IsObserved {}
/// The role of a change.
#[derive(Debug)]
pub enum IsChange {}

/// A desired state of some kind: [`crate::Kind::desired`].
pub type Desired = Opaque<IsDesired>;
/// A change in place of some kind, one call each: [`crate::Comparison::differences`].
pub type Change = Opaque<IsChange>;

impl<Role> Opaque<Role> {
    /// Hides the type of a value.
    pub fn new(value: impl Payload) -> Self {
        Self(Arc::new(value), PhantomData)
    }

    /// The value.
    ///
    /// # Panics
    /// If the value is of another type. Every kind has its own loop, which passes only values that the kind returned.
    pub fn get<T: Payload>(&self) -> &T {
        let value: &dyn Any = &*self.0;
        value.downcast_ref().unwrap_or_else(|| unreachable!("expected {}", std::any::type_name::<T>()))
    }
}

impl<Role> Clone for Opaque<Role> {
    fn clone(&self) -> Self {
        Self(self.0.clone(), PhantomData)
    }
}

impl<Role> fmt::Debug for Opaque<Role> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
