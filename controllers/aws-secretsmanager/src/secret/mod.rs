//! SecretsManagerSecret: a secret of Secrets Manager, whose value comes from a Secret of Kubernetes and is never read back.

mod api;
mod calls;
mod desired;
mod holder;
mod observed;
#[cfg(test)]
mod tests;
mod value;

pub(crate) use calls::Secrets;
