//! Batched reads of one type of object.

use std::marker::PhantomData;

use kraken_kind::Failure;

use super::{AwsResource, DescribeQuery, ObservedOf};
use crate::{
    Aws,
    lookup::{Source, TagFilter},
    release::filter,
};

/// Reads objects by id and by tags.
pub(crate) struct Reader<'a, S>(&'a Aws, PhantomData<fn() -> S>);

impl<'a, S> Reader<'a, S> {
    pub(crate) fn new(aws: &'a Aws) -> Self {
        Self(aws, PhantomData)
    }
}

impl<S: AwsResource> Source for Reader<'_, S> {
    type Item = ObservedOf<S>;

    async fn by_ids(&self, ids: Vec<String>) -> Result<Vec<ObservedOf<S>>, Failure> {
        S::read(self.0, DescribeQuery { ids: Some(ids), filters: None }).await
    }

    async fn by_tags(&self, wanted: Vec<TagFilter>) -> Result<Vec<ObservedOf<S>>, Failure> {
        let filters = wanted.into_iter().map(|(key, values)| filter(&format!("tag:{key}"), values)).collect();
        S::read(self.0, DescribeQuery { ids: None, filters: Some(filters) }).await
    }
}
