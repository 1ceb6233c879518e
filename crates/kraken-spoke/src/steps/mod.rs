//! The steps of a reconcile, in alphabetical order. Each states whether it needs a client.

pub(crate) mod act; // client required
pub(crate) mod adopt; // client required
pub(crate) mod blocked; // client required
pub(crate) mod declare; // client required
pub(crate) mod disrupted; // client required
pub(crate) mod gather; // client required
pub(crate) mod guard; // client required
pub(crate) mod location; // client required
pub(crate) mod observe; // client required
pub(crate) mod own_secret; // client required
pub(crate) mod persist; // client required
pub(crate) mod record; // client required
pub(crate) mod references; // client required
pub(crate) mod releases; // client required
pub(crate) mod remove; // client required
pub(crate) mod replace; // client required
pub(crate) mod report; // client required
pub(crate) mod resolve; // no client required
pub(crate) mod restore; // client required
pub(crate) mod retag; // client required
pub(crate) mod unchanged; // client required
pub(crate) mod undecodable; // client required
pub(crate) mod unprotect; // client required
