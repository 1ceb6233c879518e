//! The steps of a reconcile, in their order. Each states whether it needs a client.

// 1. Client required.
pub(crate) mod restore;

// 2. Client required.
pub(crate) mod connect;

// 3. Client required.
pub(crate) mod remove;

// 4. Client required.
pub(crate) mod skip;
pub(crate) mod take_over;

// 5. Client required.
pub(crate) mod gather;

// Before 1, and before 6. Client required.
pub(crate) mod recall;

// 6. No client required.
pub(crate) mod resolve;

// 7. Client required.
pub(crate) mod observe;

// 8. No client required.
pub(crate) mod decide;

// After 8. Client required.
pub(crate) mod follow;

// 9. Client required.
pub(crate) mod adopt;

// 10. Client required.
pub(crate) mod declare;

// 11. Client required.
pub(crate) mod act;

// 12. Client required.
pub(crate) mod resume;

// 13. Client required.
pub(crate) mod search;

// After the steps, on every path. Client required.
pub(crate) mod report;
