//! Certificate: a public certificate that is validated by DNS.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Certificates;
