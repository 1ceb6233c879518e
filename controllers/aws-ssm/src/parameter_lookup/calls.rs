//! The call of look-ups of parameters, which all look-ups share: ten names in a call.

use futures::{StreamExt as _, TryStreamExt as _, stream};
use kraken_aws::{AwsLookup, lookup_kind::Search, prelude::*};
use kraken_kind::Unanswered;

use super::{
    api::{self, Desired},
    observed::{Parameter, Refusal},
};
use crate::ssm::SsmClients as _;

const NAME: &str = "name";
/// The maximum number of names in a call.
const NAMES_PER_CALL: usize = 10;
/// The number of concurrent calls: an account has 40 per second.
const AT_ONCE: usize = 4;

/// The kind ParameterLookup.
pub(crate) struct ParameterLookups;

impl AwsLookup for ParameterLookups {
    type Kind = api::ParameterLookup;
    const SHARED: &[&str] = &[NAME];

    fn search(desired: &Desired) -> Search {
        let Desired { name, tags: _, pin: _ } = desired;
        Search::default().with(NAME, Some(name.expose()))
    }

    fn value<'o>(parameter: &'o Parameter, filter: &str) -> Option<&'o str> {
        (filter == NAME).then_some(&parameter.name)
    }

    fn main_id(parameter: &Parameter) -> &str {
        &parameter.value
    }

    fn refusal(parameter: &Parameter) -> Option<Unanswered> {
        parameter.unanswered()
    }

    async fn read(aws: &Aws, _: Vec<String>, query: DescribeQuery) -> Result<Vec<Parameter>, Failure> {
        if let Some(ids) = query.ids {
            return Ok(ids.iter().filter_map(|id| Parameter::of_id(id)).collect());
        }
        let filters = query.filters.unwrap_or_default().into_iter();
        let names: Vec<String> = filters.flat_map(|filter| filter.values.unwrap_or_default()).collect();
        let some: Vec<Vec<String>> = names.chunks(NAMES_PER_CALL).map(<[String]>::to_vec).collect();
        let each = some.into_iter().map(|names| some_of(aws, names));
        stream::iter(each).buffered(AT_ONCE).try_concat().await
    }
}

/// The parameters with these names that exist. If AWS denies some of them, it rejects the call: then each is read by itself, so that
/// nobody's look-up stops those of others.
async fn some_of(aws: &Aws, names: Vec<String>) -> Result<Vec<Parameter>, Failure> {
    match named(aws, names.clone()).await {
        Err(failure) if is_denied(&failure) => {
            let each = names.into_iter().map(|name| async move {
                match named(aws, vec![name.clone()]).await {
                    Err(failure) if is_denied(&failure) => {
                        Ok(vec![Parameter::refused(&name, Refusal::Denied(failure.message))])
                    }
                    answer => answer,
                }
            });
            stream::iter(each).buffered(AT_ONCE).try_concat().await
        }
        answer => answer,
    }
}

fn is_denied(failure: &Failure) -> bool {
    failure.code == "AccessDeniedException"
}

/// Without decryption: the value of a `SecureString` is not readable.
async fn named(aws: &Aws, names: Vec<String>) -> Result<Vec<Parameter>, Failure> {
    let call = aws.ssm().get_parameters().set_names(Some(names)).with_decryption(false).send();
    let answer = aws.call("GetParameters", "failed to read parameters", call).await?;
    Ok(answer.parameters.unwrap_or_default().into_iter().map(Parameter::from).collect())
}
