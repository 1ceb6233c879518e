//! OIDCProvider: an identity provider whose tokens can be exchanged for sessions of roles.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::OidcProviders;
