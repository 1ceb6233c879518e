//! Selected values of a published state for the columns of `kubectl get`. Pure.

use std::collections::BTreeMap;

use kraken_api::crd::summary_key;
use kraken_options::Path;
use serde_json::Value;

/// The maximum length of a value, in characters: a column is narrow.
const MAX_VALUE: usize = 64;

/// The values of the kind's columns, as far as the state contains them.
pub fn summary(columns: &[(&str, &str)], state: &Value) -> BTreeMap<String, String> {
    let value = |path: &str| match path.parse::<Path>().ok()?.find(state).ok()? {
        Value::String(text) => Some(text),
        value @ (Value::Number(_) | Value::Bool(_)) => Some(value.to_string()),
        _ => None,
    };
    columns
        .iter()
        .filter_map(|(column, path)| {
            let text: String = value(path)?.chars().take(MAX_VALUE).collect();
            (!text.is_empty()).then(|| (summary_key(column), text))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn column_shows_a_scalar_value_of_the_state() {
        let state =
            json!({"vpc": {"CidrBlock": "10.0.0.0/16", "Size": 3, "Tags": [], "Long": "x".repeat(100)}});
        let columns = [
            ("CIDR", "vpc.CidrBlock"),
            ("Size", "vpc.Size"),
            ("Tags", "vpc.Tags"),
            ("Public IP", "vpc.None"),
            ("Long", "vpc.Long"),
        ];
        let expected = [("cidr", "10.0.0.0/16"), ("long", &"x".repeat(64)), ("size", "3")];
        let expected = expected.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
        assert_eq!(summary(&columns, &state), expected);
    }
}
