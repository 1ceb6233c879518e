//! LogGroup: a log group of CloudWatch Logs.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::LogGroups;
