//! What cluster tests are written in: a namespace of their own, objects as JSON, and waiting for what a user would see.

pub mod leaks;
pub mod person;
pub mod spoke;
pub mod world;

pub use person::Person;
pub use spoke::InProcess;
pub use world::World;
