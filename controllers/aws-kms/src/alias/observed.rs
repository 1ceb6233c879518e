//! The observed alias, which is the published state, and the tag with its owner.

use kraken_aws::{
    Tags, aws_observed, fields::digest, lookup::Tagged, marker::Marker, resource::RemoteObject, tags::PREFIX,
};

use crate::kms::types::AliasListEntry;

/// The beginning of the names of AWS's own aliases.
pub(super) const RESERVED: &str = "alias/aws/";

#[aws_observed]
#[allow(clippy::struct_field_names)] // AWS's names
pub(crate) struct Alias {
    pub(super) alias_name: String,
    pub(super) alias_arn: String,
    pub(super) target_key_id: String,
    /// When it was created, by which a marker knows it: an alias that somebody creates again has another owner.
    #[serde(skip)]
    pub(super) created: String,
    /// The key with the marker: another one than the target, if somebody changed the target.
    #[serde(skip)]
    pub(super) marked_on: Option<String>,
    /// From the tags of that key.
    #[serde(skip)]
    pub(super) tags: Tags,
}

impl From<AliasListEntry> for Alias {
    fn from(sdk: AliasListEntry) -> Self {
        let created = sdk.creation_date.and_then(|date| date.to_millis().ok());
        Self {
            alias_name: sdk.alias_name.unwrap_or_default(),
            alias_arn: sdk.alias_arn.unwrap_or_default(),
            target_key_id: sdk.target_key_id.unwrap_or_default(),
            created: created.unwrap_or_default().to_string(),
            marked_on: None,
            tags: Tags::new(),
        }
    }
}

/// The key of the tag with the owner of an alias, whose name may be longer than a key.
pub(super) fn marker_key(name: &str) -> String {
    format!("{PREFIX}alias-{}", digest(&[name]))
}

impl Alias {
    /// With the owner in the tags of this key, if they have one of this alias.
    pub(super) fn owned_by_tags_of(&self, key: &str, tags: &Tags) -> Option<Self> {
        let marker = Marker::of(tags, &marker_key(&self.alias_name))?;
        marker.is_of(&self.created).then(|| Self {
            marked_on: Some(key.to_owned()),
            tags: marker.tags,
            ..self.clone()
        })
    }

    /// The tag with these owner tags.
    pub(super) fn marker(&self, tags: &Tags) -> Tags {
        Tags::from([(marker_key(&self.alias_name), Marker::new(Some(&self.created), tags).text())])
    }

    /// The key whose tag has or gets its owner.
    pub(super) fn place(&self) -> &str {
        self.marked_on.as_deref().unwrap_or(&self.target_key_id)
    }
}

impl Tagged for Alias {
    fn id(&self) -> &str {
        &self.alias_name
    }

    fn tags(&self) -> &Tags {
        &self.tags
    }

    /// Its name can be that of an alias of somebody else. Its owner is a tag of a key, and is not lost alone.
    fn has_own_id(&self) -> bool {
        false
    }
}

impl RemoteObject for Alias {}
