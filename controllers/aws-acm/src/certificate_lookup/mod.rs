//! Look-ups of certificates of AWS Certificate Manager.

mod api;
mod calls;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::CertificateLookups;
