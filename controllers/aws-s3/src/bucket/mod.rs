//! Bucket: a bucket of S3, whose objects belong to its users.

mod api;
mod calls;
mod desired;
mod lifecycle;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Buckets;
