//! The framework of cluster tests: a namespace per test, objects as JSON, waiting for conditions, the kind `Gadget` ([`toy`]), and kinds that
//! are known at run time only ([`widgets`]).

pub mod kinds_controller;
pub mod spoke;
pub mod test_env;
pub mod test_user;
pub mod toy;
pub mod widgets;

pub use kinds_controller::KindsController;
pub use spoke::InProcess;
pub use test_env::TestEnv;
pub use test_user::TestUser;
