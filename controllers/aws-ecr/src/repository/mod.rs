//! Repository: a repository of images of Elastic Container Registry, whose images belong to its users.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Repositories;
