//! Volumes.

mod api;
mod calls;
mod desired;
mod import;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Volumes;
