//! RecordSet: the values of one name and type in a hosted zone.

mod api;
mod calls;
mod desired;
mod id;
mod marker;
mod observed;
mod read;
#[cfg(test)]
mod tests;

pub(crate) use calls::RecordSets;
