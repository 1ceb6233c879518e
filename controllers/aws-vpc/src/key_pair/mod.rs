//! Key pairs.

mod api;
mod calls;
mod desired;
mod generated;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::KeyPairs;
