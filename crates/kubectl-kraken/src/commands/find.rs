//! `kubectl kraken find`.

use std::process::ExitCode;

use anyhow::Result;
use kraken_api::names::owner;
use kube::api::DynamicObject;
use serde_json::Value;

use crate::{
    cluster::Cluster,
    connection::Connection,
    print::{Style, Table, out},
    resource::Resource,
};

/// Where a value was found.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Found {
    namespace: String,
    object: String,
    place: String,
}

pub(super) async fn run(connection: &Connection, id: &str) -> Result<ExitCode> {
    let mut cluster = Cluster::connect(connection).await?;
    if connection.namespace.is_none() {
        cluster.scope = None;
    }
    let listed = match cluster.resources().await {
        // Without rights on the whole cluster, the namespace of the context.
        Err(_) if connection.namespace.is_none() && !connection.all_namespaces => {
            eprintln!("only namespace {} is searched: you may not list all of them", cluster.namespace);
            cluster.scope = Some(cluster.namespace.clone());
            cluster.resources().await?
        }
        listed => listed?,
    };
    listed.warn();
    let mut found: Vec<Found> =
        listed.objects.into_iter().filter_map(|object| in_status(object, id)).collect();
    if found.is_empty()
        && let Some(kind) = cluster.kinds.named("StateDeclaration")
    {
        let states = cluster.list(&[kind]).await?;
        found = states.objects.iter().filter_map(|state| in_state(state, id)).collect();
    }
    if found.is_empty() {
        eprintln!("no resource has {id:?} in its status or its published state");
        return Ok(ExitCode::from(1));
    }
    let mut table = Table::new(&["NAMESPACE", "RESOURCE", "FOUND IN"]);
    for Found { namespace, object, place } in found {
        table.plain([namespace, object, place]);
    }
    out(&table.render(Style::of_stdout()))?;
    Ok(ExitCode::SUCCESS)
}

/// A resource with this value in its status. Pure.
fn in_status(object: DynamicObject, id: &str) -> Option<Found> {
    let place = place(&object.data["status"], id, "status")?;
    let node = Resource::of(object)?.node;
    Some(Found { namespace: node.namespace.clone(), object: node.to_string(), place })
}

/// The resource whose published state has this value. Pure.
fn in_state(state: &DynamicObject, id: &str) -> Option<Found> {
    let place = place(&state.data["spec"], id, "published state")?;
    let name = state.metadata.name.clone().unwrap_or_default();
    // Kinds in names are in lower case, with the first label of the group.
    let object = match owner(&name) {
        Some((kind, name)) => format!("{kind}/{name}"),
        None => format!("StateDeclaration/{name}"),
    };
    Some(Found { namespace: state.metadata.namespace.clone().unwrap_or_default(), object, place })
}

/// The path of the first value that is the id, or an ARN that ends with it.
fn place(value: &Value, id: &str, at: &str) -> Option<String> {
    match value {
        Value::String(text) => is_id(text, id).then(|| at.to_owned()),
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(index, item)| place(item, id, &format!("{at}[{index}]")))
        }
        Value::Object(fields) => {
            // Messages name ids of others.
            let fields = fields.iter().filter(|(name, _)| *name != "conditions");
            fields.into_iter().find_map(|(name, inner)| place(inner, id, &format!("{at}.{name}")))
        }
        _ => None,
    }
}

fn is_id(text: &str, id: &str) -> bool {
    text == id
        || (text.starts_with("arn:") && text.ends_with(id) && {
            let before = text[..text.len() - id.len()].chars().next_back();
            before.is_some_and(|c| c == '/' || c == ':')
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::graph::fixtures::{object, ready};

    fn with_ids(ids: Value) -> DynamicObject {
        let mut status = ready();
        status["externalIds"] = ids;
        status["conditions"][0]["message"] = "in place: sg-9".into();
        object("SecurityGroup", "app", json!({}), status)
    }

    #[test]
    fn a_resource_is_found_by_any_of_its_ids() {
        let arn = "arn:aws:elb:1:2:targetgroup/web/73e2";
        for (id, place) in [
            ("sg-1", "status.externalIds[0]"),
            (arn, "status.externalIds[1]"),
            ("web/73e2", "status.externalIds[1]"),
        ] {
            let found = in_status(with_ids(json!(["sg-1", arn])), id).unwrap();
            assert_eq!((found.object.as_str(), found.place.as_str()), ("SecurityGroup/app", place));
        }
        for id in ["sg", "eb/73e2", "sg-9", ""] {
            assert_eq!(in_status(with_ids(json!(["sg-1", arn])), id), None, "{id}");
        }
    }

    #[test]
    fn other_values_are_found_in_published_states() {
        let mut state = object(
            "StateDeclaration",
            "ec2instance.aws.my.web",
            json!({"data": {"nics": [{"Id": "eni-1"}]}}),
            json!({}),
        );
        assert_eq!(in_state(&state, "eni-1").unwrap().object, "ec2instance.aws/my.web");
        assert_eq!(in_state(&state, "eni-1").unwrap().place, "published state.data.nics[0].Id");
        state.metadata.name = Some("static-vpc".to_owned());
        assert_eq!(in_state(&state, "eni-1").unwrap().object, "StateDeclaration/static-vpc");
    }
}
