//! The framework of cluster tests: a namespace per test, objects as JSON, and waiting for conditions.

pub mod person;
pub mod spoke;
pub mod test_env;

pub use person::Person;
pub use spoke::InProcess;
pub use test_env::TestEnv;
