//! DynamoDBTable: a table of DynamoDB with its indexes.

mod api;
mod bounds;
mod calls;
mod capacity;
mod desired;
mod index;
mod observed;
#[cfg(test)]
mod tests;
mod wanted;

pub(crate) use calls::Tables;
