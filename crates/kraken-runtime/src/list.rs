//! Lists of the API server, page by page: a list of all objects at once takes the memory of all of them, in both processes.

use std::fmt::Debug;

use kube::{
    Api,
    api::ListParams,
    core::{ObjectMeta, Resource},
};
use serde::de::DeserializeOwned;

use crate::patch::{ApiError, within};

/// How many objects a page has.
const PAGE: u32 = 1000;

/// Passes on the metadata of all objects that match `params`, in their most recent state. `verb` is the attempted action in the error.
///
/// # Errors
/// If a page fails, also because it expired: a list that is not complete would show objects as gone.
pub async fn each_metadata<K>(
    api: &Api<K>,
    verb: &'static str,
    params: ListParams,
    mut pass_on: impl FnMut(ObjectMeta),
) -> Result<(), ApiError>
where
    K: Clone + DeserializeOwned + Debug + Resource,
{
    let mut params = params.limit(PAGE);
    loop {
        let page = within(verb, api.list_metadata(&params)).await?;
        page.items.into_iter().for_each(|object| pass_on(object.metadata));
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params = params.continue_token(&token),
            None => return Ok(()),
        }
    }
}
