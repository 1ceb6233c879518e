//! The names of kinds: `openstack_networking_network_v2` is `OpenstackNetworkingNetworkV2`.

use kraken_kind::api::crd::at_run_time::Names;
use kube::core::ApiResource;
use sha2::{Digest, Sha256};

/// The API group of the kinds of all providers.
pub const GROUP: &str = "tofu.kraken-iac.eoinfennessy.com";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";
/// The longest plural, in bytes: it is a DNS label.
const MAX_PLURAL: usize = 63;
/// The hexadecimal digits in a name that is shortened.
const DIGITS: usize = 8;

/// The names of the kind of a resource type.
pub fn of(type_name: &str) -> Names {
    let words = type_name.split('_').filter(|word| !word.is_empty());
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let kind: String = words.map(capital).collect();
    let mut plural = format!("{}s", kind.to_lowercase());
    if plural.len() > MAX_PLURAL {
        let digest = hex::encode(Sha256::digest(type_name));
        plural.truncate(MAX_PLURAL - DIGITS - 1);
        plural = format!("{plural}-{}", &digest[..DIGITS]);
    }
    let provider = type_name.split('_').next().unwrap_or(type_name);
    Names { group: GROUP.to_owned(), kind, plural, categories: vec![provider.to_owned()] }
}

/// The names of the kind of a data source: `openstack_images_image_v2` is `DataOpenstackImagesImageV2`.
pub fn of_data(type_name: &str) -> Names {
    Names { categories: of(type_name).categories, ..of(&format!("data_{type_name}")) }
}

/// The API resource of these names.
pub(crate) fn resource(names: &Names) -> ApiResource {
    ApiResource {
        group: names.group.clone(),
        version: VERSION.to_owned(),
        api_version: format!("{}/{VERSION}", names.group),
        kind: names.kind.clone(),
        plural: names.plural.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kind_is_the_type_in_camel_case() {
        let names = of("openstack_networking_network_v2");
        assert_eq!(names.kind, "OpenstackNetworkingNetworkV2");
        assert_eq!(
            (names.plural.as_str(), names.categories),
            ("openstacknetworkingnetworkv2s", vec!["openstack".to_owned()])
        );
        let data = of_data("openstack_images_image_v2");
        assert_eq!(
            (data.kind.as_str(), data.categories[0].as_str()),
            ("DataOpenstackImagesImageV2", "openstack")
        );
        let long = of(&format!("acme_{}", "a".repeat(80)));
        assert_eq!(long.plural.len(), MAX_PLURAL);
        assert_ne!(long.plural, of(&format!("acme_{}b", "a".repeat(80))).plural);
    }
}
