//! The steps of a reconcile. [`crate::reconcile`] lists them in their order.

pub(crate) mod act;
pub(crate) mod complete;
pub(crate) mod connect;
pub(crate) mod decide;
pub(crate) mod gather;
pub(crate) mod look_up;
pub(crate) mod observe;
pub(crate) mod remove;
pub(crate) mod report;
pub(crate) mod resolve;
pub(crate) mod restore;
