//! Types whose objects can be found after a creation without a response: the creating call itself sends a marker in the description, and
//! the data source of the same name finds the object by it.
//!
//! What a data source returns counts only if it has the marker, because some ignore what they are asked for.

use kraken_kind::Identity;
use kraken_tfplugin::{
    Value,
    schema::{Form, ProviderSchema, Schema},
};
use sha2::{Digest, Sha256};

/// The types of which it was seen that a creation whose process was killed is found again, and that nothing is found if nothing was
/// created: only for these, what the data source says counts. Data sources of other types, such as OpenStack's projects, ignore the
/// description.
const TESTED: [&str; 11] = [
    "ktest_file",
    "openstack_compute_flavor_v2",
    "openstack_networking_floatingip_v2",
    "openstack_networking_network_v2",
    "openstack_networking_port_v2",
    "openstack_networking_qos_policy_v2",
    "openstack_networking_router_v2",
    "openstack_networking_secgroup_v2",
    "openstack_networking_segment_v2",
    "openstack_networking_subnet_v2",
    "openstack_networking_subnetpool_v2",
];
/// The attribute with the marker.
const ATTRIBUTE: &str = "description";
/// How a marker begins.
const BEGIN: &str = "[kraken ";
/// The hexadecimal digits of a marker.
const DIGITS: usize = 12;

/// Whether objects of this type can be marked and found.
pub(crate) fn is_marked(provider: &ProviderSchema, type_name: &str) -> bool {
    let has = |schema: &Schema, name: &str, is_set: bool| {
        schema.block.attributes.get(name).is_some_and(|attribute| {
            matches!(attribute.form, Form::Plain(kraken_tfplugin::Type::String))
                && (!is_set || (attribute.is_optional && !attribute.is_secret()))
        })
    };
    let data_source = provider.data_sources.get(type_name);
    TESTED.contains(&type_name)
        && provider.resources.get(type_name).is_some_and(|resource| has(resource, ATTRIBUTE, true))
        && data_source.is_some_and(|source| has(source, ATTRIBUTE, true) && has(source, "id", false))
}

/// The marker of a launch.
pub(crate) fn of(identity: &Identity, epoch: i64) -> String {
    let digest = hex::encode(Sha256::digest(format!("{}/{}/{epoch}", identity.cluster, identity.uid)));
    format!("{BEGIN}{}]", &digest[..DIGITS])
}

/// The marker in a description that was sent; all of it if it has none.
pub(crate) fn in_text(description: &str) -> &str {
    description.rfind(BEGIN).map_or(description, |at| &description[at..])
}

/// The configuration with the marker at the end of the description.
pub(crate) fn with(config: &Value, marker: &str) -> Value {
    let Value::Object(attributes) = config else { return config.clone() };
    let mut attributes = attributes.clone();
    let text = match attributes.get(ATTRIBUTE).and_then(Value::as_str) {
        Some(text) if !text.is_empty() => format!("{text} {marker}"),
        _ => marker.to_owned(),
    };
    attributes.insert(ATTRIBUTE.to_owned(), Value::String(text));
    Value::Object(attributes)
}

/// The description of a configuration, with which the data source is asked.
pub(crate) fn description(config: &Value) -> Option<String> {
    config.attribute(ATTRIBUTE).as_str().map(str::to_owned)
}

/// The query of the data source for this description.
pub(crate) fn query(source: &Schema, description: &str) -> Value {
    let mut query = source.block.empty_value();
    if let Value::Object(attributes) = &mut query {
        attributes.insert(ATTRIBUTE.to_owned(), Value::String(description.to_owned()));
    }
    query
}

/// The id of what the data source found, if it has the marker.
pub(crate) fn found(answer: &Value, marker: &str) -> Option<String> {
    let has_marker = answer.attribute(ATTRIBUTE).as_str().is_some_and(|text| text.ends_with(marker));
    answer.attribute("id").as_str().filter(|id| has_marker && !id.is_empty()).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lacks_the_marker_is_not_found() {
        let owner = "Network/ns/a".to_owned();
        let identity = Identity { cluster: "c".to_owned(), uid: "u".to_owned(), owner };
        let marker = of(&identity, 1);
        assert_ne!(marker, of(&identity, 2));
        let config = with(&Value::object([("description", Value::String("web".to_owned()))]), &marker);
        assert_eq!(description(&config), Some(format!("web {marker}")));
        assert_eq!((in_text(&format!("a [kraken b {marker}")), in_text("web")), (&*marker, "web"));
        let answer = |text: &str| {
            Value::object([
                ("description", Value::String(text.to_owned())),
                ("id", Value::String("i".to_owned())),
            ])
        };
        assert_eq!(found(&answer(&format!("web {marker}")), &marker).as_deref(), Some("i"));
        assert_eq!(found(&answer("web"), &marker), None);
        assert_eq!(found(&answer(&format!("{marker} copied")), &marker), None);
    }
}
