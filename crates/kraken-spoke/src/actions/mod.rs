//! Single actions that several steps use, each with one purpose and at most one side effect.

pub(crate) mod location; // client required
pub(crate) mod persist; // client required
pub(crate) mod record; // client required
pub(crate) mod references; // client required
pub(crate) mod retag;
pub(crate) mod states; // client required
pub(crate) mod unprotect; // client required
