//! The stored form of an object: an unreferenced Secret or ConfigMap takes about sixty bytes in addition to its name.

use std::{collections::BTreeMap, fmt, sync::Arc};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{OwnerReference, Time};
use kraken_api::DOMAIN;
use kube::{api::ObjectMeta, core::PartialObjectMeta};

use super::{ObjectKey, RawObject};

/// The label with the program that manages an object.
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";

/// Decodes an object.
pub(super) type Decode<K> = Arc<dyn Fn(&RawObject) -> K + Send + Sync>;

/// An object in a store.
pub(super) enum Stored<K> {
    /// Stored unchanged.
    Whole(Arc<K>),
    /// Stored compactly, and rebuilt on each access.
    Compact(Box<Compact>, fn(ObjectMeta) -> K),
    /// Stored as text, and decoded on each access.
    Raw(Box<RawObject>, Decode<K>),
    /// Stored as text and decoded: in simulations, whose processor time matters, and not their memory.
    Both(Box<RawObject>, Arc<K>),
}

/// The metadata of an object with only common fields.
#[derive(Debug)]
pub(super) struct Compact {
    uid: u128,
    version: u64,
    /// In seconds.
    created: i64,
    owners: Option<Box<[OwnerReference]>>,
}

impl<K> Stored<K> {
    /// The object.
    pub(super) fn open(&self, key: &ObjectKey) -> Arc<K> {
        match self {
            Self::Whole(object) | Self::Both(_, object) => object.clone(),
            Self::Compact(compact, form) => Arc::new(form(compact.open(key))),
            Self::Raw(raw, decode) => Arc::new(decode(raw)),
        }
    }

    /// The text of the object, if it is what is stored.
    pub(super) fn raw(&self) -> Option<&RawObject> {
        match self {
            Self::Raw(raw, _) | Self::Both(raw, _) => Some(raw),
            Self::Whole(_) | Self::Compact(..) => None,
        }
    }
}

impl<K> fmt::Debug for Stored<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Whole(_) => "Whole",
            Self::Compact(..) => "Compact",
            Self::Raw(..) => "Raw",
            Self::Both(..) => "Both",
        })
    }
}

impl<K> Stored<PartialObjectMeta<K>> {
    /// Metadata in its smallest lossless form.
    pub(super) fn metadata(object: Arc<PartialObjectMeta<K>>) -> Self {
        match Compact::of(&object.metadata) {
            Some(compact) => Self::Compact(Box::new(compact), partial),
            None => Self::Whole(object),
        }
    }
}

fn partial<K>(metadata: ObjectMeta) -> PartialObjectMeta<K> {
    PartialObjectMeta { types: None, metadata, _phantom: std::marker::PhantomData }
}

impl Compact {
    /// None if the form would not be lossless.
    fn of(meta: &ObjectMeta) -> Option<Self> {
        let compact = Self {
            uid: u128::from_str_radix(&meta.uid.as_ref()?.replace('-', ""), 16).ok()?,
            version: meta.resource_version.as_ref()?.parse().ok()?,
            created: meta.creation_timestamp.as_ref()?.0.as_second(),
            owners: meta.owner_references.clone().map(Vec::into_boxed_slice),
        };
        (compact.open(&ObjectKey::of(meta)) == *meta).then_some(compact)
    }

    fn open(&self, key: &ObjectKey) -> ObjectMeta {
        let digits = format!("{:032x}", self.uid);
        let parts = [0..8, 8..12, 12..16, 16..20, 20..32].map(|range| &digits[range]);
        let namespace = Some(key.namespace.to_string()).filter(|namespace| !namespace.is_empty());
        ObjectMeta {
            name: Some(key.name.to_string()),
            namespace,
            uid: Some(parts.join("-")),
            resource_version: Some(self.version.to_string()),
            creation_timestamp: Timestamp::from_second(self.created).ok().map(Time),
            owner_references: self.owners.as_deref().map(<[OwnerReference]>::to_vec),
            ..ObjectMeta::default()
        }
    }
}

/// The fields of an object's metadata that are stored.
pub(super) fn essential(meta: ObjectMeta) -> ObjectMeta {
    let own = |words: Option<BTreeMap<String, String>>| {
        let mut words = words?;
        let is_own = |key: &str| key.split('/').next().is_some_and(|prefix| prefix.ends_with(DOMAIN));
        words.retain(|key, _| is_own(key) || key == MANAGED_BY);
        (!words.is_empty()).then_some(words)
    };
    ObjectMeta {
        name: meta.name,
        namespace: meta.namespace,
        uid: meta.uid,
        resource_version: meta.resource_version,
        generation: meta.generation,
        creation_timestamp: meta.creation_timestamp,
        deletion_timestamp: meta.deletion_timestamp,
        owner_references: meta.owner_references.filter(|owners| !owners.is_empty()),
        labels: own(meta.labels),
        annotations: own(meta.annotations),
        finalizers: meta.finalizers,
        ..ObjectMeta::default()
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;

    use super::*;

    fn secret() -> ObjectMeta {
        ObjectMeta {
            name: Some("db".into()),
            namespace: Some("team-a".into()),
            uid: Some("0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0".into()),
            resource_version: Some("123456".into()),
            creation_timestamp: Some(Time(Timestamp::from_second(1_700_000_000).unwrap())),
            ..ObjectMeta::default()
        }
    }

    fn stored(meta: &ObjectMeta) -> Stored<PartialObjectMeta<Secret>> {
        Stored::metadata(Arc::new(partial(meta.clone())))
    }

    #[test]
    fn common_metadata_is_stored_in_sixty_bytes_without_loss() {
        assert!(size_of::<Compact>() + size_of::<Stored<PartialObjectMeta<Secret>>>() <= 80);
        let stored = stored(&secret());
        assert!(matches!(stored, Stored::Compact(..)));
        assert_eq!(stored.open(&ObjectKey::of(&secret())).metadata, secret());
    }

    #[test]
    fn uncommon_metadata_is_stored_unchanged() {
        let words: BTreeMap<String, String> = [("a".to_owned(), "b".to_owned())].into();
        for unusual in [
            ObjectMeta { uid: Some("not-a-uid".into()), ..secret() },
            ObjectMeta { resource_version: Some("007".into()), ..secret() },
            ObjectMeta { generation: Some(1), ..secret() },
            ObjectMeta { annotations: Some(words), ..secret() },
            ObjectMeta { deletion_timestamp: secret().creation_timestamp, ..secret() },
        ] {
            let stored = stored(&unusual);
            assert!(matches!(stored, Stored::Whole(_)), "{unusual:?}");
            assert_eq!(stored.open(&ObjectKey::of(&unusual)).metadata, unusual);
        }
    }
}
