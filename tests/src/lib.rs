//! The framework of cluster tests: a namespace per test, objects as JSON, waiting for conditions, and the kind `Gadget` ([`toy`]).

pub mod spoke;
pub mod test_env;
pub mod test_user;
pub mod toy;

pub use spoke::InProcess;
pub use test_env::TestEnv;
pub use test_user::TestUser;
