//! `lifecycle.share`: the published part of a state. Pure.

use kraken_api::Share;
use kraken_options::Path;
use serde_json::{Map, Value};

/// Keeps the shared paths, each with everything below it. Lists are traversed and keep their length, so that no element
/// changes its index.
pub fn shared(state: Value, share: Option<&Share>) -> Value {
    match share {
        Some(share) => {
            let parsed: Vec<Path> = share.include.iter().filter_map(|path| path.parse().ok()).collect();
            let paths: Vec<Vec<&str>> = parsed.iter().filter_map(Path::segments).collect();
            let paths: Vec<&[&str]> = paths.iter().map(Vec::as_slice).collect();
            kept(state, &paths)
        }
        None => state,
    }
}

fn kept(value: Value, paths: &[&[&str]]) -> Value {
    if paths.iter().any(|path| path.is_empty()) {
        return value;
    }
    match value {
        Value::Array(items) => Value::Array(items.into_iter().map(|item| kept(item, paths)).collect()),
        Value::Object(members) => {
            let mut rest = Map::new();
            for (key, member) in members {
                let below: Vec<&[&str]> =
                    paths.iter().filter(|path| path[0] == key).map(|path| &path[1..]).collect();
                if !below.is_empty() {
                    rest.insert(key, kept(member, &below));
                }
            }
            Value::Object(rest)
        }
        // A path below a scalar value shares nothing of it.
        _ => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn only(include: &[&str]) -> Value {
        let state = json!({
            "instances": [{"InstanceId": "i-1", "Ip": "a"}, {"InstanceId": "i-2"}],
            "spec": {"imageID": "ami-1", "tags": {"Team": "shop"}},
        });
        let include = include.iter().map(|path| (*path).to_owned()).collect();
        shared(state, Some(&Share { include }))
    }

    #[test]
    fn path_shares_everything_below_it() {
        assert_eq!(only(&["spec.tags"]), json!({"spec": {"tags": {"Team": "shop"}}}));
    }

    #[test]
    fn list_elements_keep_their_indexes() {
        assert_eq!(only(&["instances.Ip"]), json!({"instances": [{"Ip": "a"}, {}]}));
        assert_eq!(
            only(&["instances.InstanceId"]),
            json!({"instances": [{"InstanceId": "i-1"}, {"InstanceId": "i-2"}]})
        );
    }

    #[test]
    fn empty_list_and_unknown_path_share_nothing() {
        assert_eq!(only(&[]), json!({}));
        assert_eq!(only(&["nothing", "spec.imageID.deeper"]), json!({"spec": {"imageID": null}}));
    }
}
