//! The steps of a reconcile, in their order. Each states whether it needs a client.

pub(crate) mod act; // 11. client required
pub(crate) mod adopt; // 9. client required
pub(crate) mod connect; // 2. client required
pub(crate) mod decide; // 8. no client required
pub(crate) mod declare; // 10. client required
pub(crate) mod gather; // 5. client required
pub(crate) mod observe; // 7. client required
pub(crate) mod remove; // 3. client required
pub(crate) mod resolve; // 6. no client required
pub(crate) mod restore; // 1. client required
pub(crate) mod resume;
pub(crate) mod skip; // 4. client required // 12. client required

// After the steps, on every path: client required.
pub(crate) mod report;
