//! Key: a key of KMS, whose deletion takes days and can be cancelled.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Keys;
