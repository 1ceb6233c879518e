//! Alarm: a metric alarm of CloudWatch.

mod api;
mod calls;
mod desired;
mod observed;
#[cfg(test)]
mod tests;

pub(crate) use calls::Alarms;
