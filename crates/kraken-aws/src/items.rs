//! Queries, and lists in responses of AWS as observed objects.

use aws_sdk_ec2::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_async::future::pagination_stream::PaginationStream;
use kraken_kind::Failure;

use crate::{Aws, release, resource::DescribeQuery};

impl Aws {
    /// Reads all pages of a paginator, and converts the items of each.
    ///
    /// # Errors
    /// As [`Aws::call`].
    pub async fn items<P, I, T, E>(
        &self,
        operation: &'static str,
        action: &str,
        pages: PaginationStream<Result<P, SdkError<E>>>,
        items: impl Fn(P) -> Option<Vec<I>>,
    ) -> Result<Vec<T>, Failure>
    where
        T: From<I>,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let pages = self.pages(operation, action, pages).await?;
        Ok(pages.into_iter().flat_map(|page| in_order(items(page))).collect())
    }
}

impl DescribeQuery {
    /// The objects that have this value of an EC2 filter, such as `vpc-id`.
    pub fn with(filter: &str, value: &str) -> Self {
        let filter = release::filter(filter, vec![value.to_owned()]);
        Self { ids: None, filters: Some(vec![filter]) }
    }

    /// The object with this id.
    pub fn of(id: &str) -> Self {
        Self { ids: Some(vec![id.to_owned()]), filters: None }
    }
}

/// The items of a list in the order of the response.
pub fn in_order<S, T: From<S>>(items: Option<Vec<S>>) -> Vec<T> {
    items.unwrap_or_default().into_iter().map(T::from).collect()
}

/// The items of a list whose order varies between responses, in a fixed order.
pub fn sorted<S, T: From<S> + Ord>(items: Option<Vec<S>>) -> Vec<T> {
    let mut items: Vec<T> = in_order(items);
    items.sort();
    items
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_order_of_a_response_is_observed_only_if_it_matters() {
        assert_eq!(in_order::<_, String>(Some(vec!["b", "a"])), ["b", "a"]);
        assert_eq!(sorted::<_, String>(Some(vec!["b", "a"])), ["a", "b"]);
        assert!(sorted::<&str, String>(None).is_empty());
    }
}
