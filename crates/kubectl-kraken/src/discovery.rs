//! The kinds of Kraken in a cluster, and their names in any spelling that kubectl accepts. Pure.

use std::collections::BTreeMap;

use kraken_api::{DOMAIN, import_request::IMPORTABLE_CATEGORY, state_declaration::STATIC_KIND};
use kraken_options::KindRef;
use kube::core::{
    ApiResource, DynamicObject, GroupVersionKind, TypeMeta,
    discovery::v2::{APIGroupDiscoveryList, APIResourceDiscovery},
};

/// The category of all kinds that users write.
const CATEGORY: &str = "kraken";
/// The category of the kinds that only controllers write.
const INTERNAL: &str = "kraken-internal";

/// The kind by which an import asks the controllers.
const QUESTIONS: &str = "ImportRequest";
/// The kind of published states, some of which are those of users.
const STATES: &str = "StateDeclaration";

/// A kind of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) resource: ApiResource,
    singular: String,
    short_names: Vec<String>,
    is_internal: bool,
    /// Whether `kubectl kraken import` can ask for its objects.
    pub(crate) is_importable: bool,
}

/// All kinds of Kraken in the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds {
    all: Vec<Kind>,
    /// The kinds of namespaces that have no state, such as ReferenceGrant.
    plain: Vec<ApiResource>,
    /// The served versions of all kinds, by group and kind, the preferred one first.
    versions: BTreeMap<(String, String), Vec<String>>,
}

/// Why a name is not that of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Unknown {
    /// No kind has the name; a similar kind.
    NotFound(Option<String>),
    /// Several kinds have it, in these forms each of which is unambiguous.
    Ambiguous(Vec<String>),
}

impl Kind {
    /// `securitygroups.aws.example.com`, the name of its CRD.
    pub(crate) fn full_name(&self) -> String {
        format!("{}.{}", self.resource.plural, self.resource.group)
    }

    /// An object of this kind with its kind in it: items of a list may lack it.
    pub(crate) fn typed(&self, mut object: DynamicObject) -> DynamicObject {
        let ApiResource { api_version, kind, .. } = &self.resource;
        object.types = Some(TypeMeta { api_version: api_version.clone(), kind: kind.clone() });
        object
    }

    /// Whether a user's word names it: kind, plural, singular or short name, alone, with the group or its first label, or with version
    /// and group.
    fn is_named(&self, word: &str) -> bool {
        let (name, group) = match word.split_once('.') {
            Some((name, group)) => (name, Some(group)),
            None => (word, None),
        };
        let first_label = self.resource.group.split('.').next().unwrap_or_default();
        let versioned = format!("{}.{}", self.resource.version, self.resource.group);
        let is_group = group
            .is_none_or(|group| group == self.resource.group || group == first_label || group == versioned);
        let is_kind = KindRef::of(name).key == KindRef::of(&self.resource.kind).key;
        is_group
            && (is_kind
                || name == self.resource.plural
                || name == self.singular
                || self.short_names.iter().any(|short| short == name))
    }
}

impl Kinds {
    /// Those in the answer of the API server's aggregated discovery, in its preferred version of each group.
    pub(crate) fn of(list: APIGroupDiscoveryList) -> Self {
        let (mut kinds, mut plain, mut versions) = (vec![], vec![], BTreeMap::<_, Vec<String>>::new());
        for group in list.items {
            let name = group.metadata.and_then(|metadata| metadata.name).unwrap_or_default();
            for version in group.versions.iter().filter(|_| name.ends_with(DOMAIN)) {
                for kind in
                    version.resources.iter().filter_map(|one| one.response_kind.as_ref()?.kind.clone())
                {
                    let served = versions.entry((name.clone(), kind)).or_default();
                    served.extend(version.version.clone());
                }
            }
            let Some(version) = group.versions.into_iter().next() else { continue };
            let number = version.version.unwrap_or_default();
            for resource in version.resources {
                let is_of_namespace = resource.scope.as_deref() == Some("Namespaced");
                let is_ours = name.ends_with(DOMAIN) && is_of_namespace;
                let without_state = api_resource(&name, &number, &resource).filter(|_| is_ours);
                match kind(&name, &number, resource) {
                    Some(kind) => kinds.push(kind),
                    None => plain.extend(without_state),
                }
            }
        }
        kinds.sort_by_key(Kind::full_name);
        Self { all: kinds, plain, versions }
    }

    /// The kinds that users write.
    pub(crate) fn users(&self) -> impl Iterator<Item = &Kind> {
        self.all.iter().filter(|kind| !kind.is_internal)
    }

    /// Whether it is a kind whose objects users write and controllers report on.
    pub(crate) fn has_state(&self, group: &str, kind: &str) -> bool {
        self.users().any(|known| known.resource.group == group && known.resource.kind == kind)
    }

    /// A kind without a state, by its name in the API: `ReferenceGrant`.
    pub(crate) fn plain(&self, group: &str, kind: &str) -> Option<&ApiResource> {
        self.plain.iter().find(|known| known.group == group && known.kind == kind)
    }

    /// A kind whose objects users write and on which no controller reports: one without a state, or a StateDeclaration with the name of a
    /// static state. All others of that kind are the controllers'.
    pub(crate) fn without_state(&self, group: &str, kind: &str, name: &str) -> Option<&ApiResource> {
        let of_statics =
            || self.named(STATES).filter(|known| known.resource.group == group && is_static(kind, name));
        self.plain(group, kind).or_else(|| Some(&of_statics()?.resource))
    }

    /// The kinds with such objects that last: an ImportRequest is a question.
    pub(crate) fn all_without_state(&self) -> impl Iterator<Item = &ApiResource> {
        let lasting = self.plain.iter().filter(|known| known.kind != QUESTIONS);
        lasting.chain(self.named(STATES).map(|known| &known.resource))
    }

    /// What is wrong with the version of a kind of the cluster, in the words of `lint`; nothing if it is served.
    pub(crate) fn unserved(&self, group: &str, kind: &str, version: &str) -> Option<String> {
        let served = self.versions.get(&(group.to_owned(), kind.to_owned()))?;
        let is_served = served.iter().any(|known| known == version);
        (!is_served).then(|| format!("{kind} has no version {version:?}; it has {}", served.join(", ")))
    }

    /// Any kind of Kraken by its name in the API: `DependencyRequest`.
    pub(crate) fn named(&self, kind: &str) -> Option<&Kind> {
        self.all.iter().find(|known| known.resource.kind == kind)
    }

    /// The kinds that a reference may mean: a group in it is optional.
    pub(crate) fn of_reference(&self, kind: &str) -> impl Iterator<Item = &Kind> {
        let wanted = KindRef::of(kind);
        self.users().filter(move |kind| wanted.matches(&kind.resource.kind, &kind.resource.group))
    }

    /// The kind with this name on the command line.
    pub(crate) fn find(&self, word: &str) -> Result<&Kind, Unknown> {
        let lower = word.to_lowercase();
        let found: Vec<_> = self.users().filter(|kind| kind.is_named(&lower)).collect();
        match found.as_slice() {
            [one] => Ok(one),
            [] => Err(Unknown::NotFound(self.most_similar(&lower))),
            several => Err(Unknown::Ambiguous(several.iter().map(|kind| kind.full_name()).collect())),
        }
    }

    fn most_similar(&self, word: &str) -> Option<String> {
        let near = |kind: &Kind| {
            let names = [kind.resource.kind.to_lowercase(), kind.resource.plural.clone()];
            names.iter().map(|name| distance(name, word)).min()
        };
        let nearest = self.users().min_by_key(|kind| near(kind))?;
        near(nearest).is_some_and(|distance| distance <= 2).then(|| nearest.resource.kind.clone())
    }
}

/// Whether it is a static state, which users write: `static-<name>`.
pub(crate) fn is_static(kind: &str, name: &str) -> bool {
    kind == STATES && name.strip_prefix(STATIC_KIND).is_some_and(|name| name.starts_with('-'))
}

fn kind(group: &str, version: &str, resource: APIResourceDiscovery) -> Option<Kind> {
    let has = |category: &str| resource.categories.iter().any(|one| one == category);
    let is_internal = has(INTERNAL);
    if !is_internal && !has(CATEGORY) {
        return None;
    }
    let is_importable = has(IMPORTABLE_CATEGORY);
    Some(Kind {
        resource: api_resource(group, version, &resource)?,
        singular: resource.singular_resource.unwrap_or_default(),
        short_names: resource.short_names,
        is_internal,
        is_importable,
    })
}

fn api_resource(group: &str, version: &str, resource: &APIResourceDiscovery) -> Option<ApiResource> {
    let kind = resource.response_kind.as_ref()?.kind.as_ref()?;
    let gvk = GroupVersionKind::gvk(group, version, kind);
    Some(ApiResource::from_gvk_with_plural(&gvk, resource.resource.as_ref()?))
}

/// The number of letters to insert, remove or change.
pub(crate) fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// The kinds of the fixtures: those of AWS that tests name, and those of the hub.
    pub(crate) fn kinds() -> Kinds {
        let resource = |kind: &str, short: &str, category: &str| {
            json!({"resource": format!("{}s", kind.to_lowercase()), "responseKind": {"kind": kind},
                "singularResource": kind.to_lowercase(), "shortNames": [short], "categories": [category]})
        };
        let group = |label: &str, resources: Vec<Value>| {
            json!({"metadata": {"name": format!("{label}.kraken-iac.eoinfennessy.com")},
                "versions": [{"version": "v1alpha1", "resources": resources}]})
        };
        let aws = [
            ("VPC", "vpc"),
            ("Subnet", "sn"),
            ("SecurityGroup", "sg"),
            ("EC2Instance", "ec2"),
            ("TargetGroup", "tg"),
            ("Listener", "lsn"),
            ("ListenerRule", "lsr"),
            ("Account", "acc"),
            ("InternetGateway", "igw"),
        ];
        let list = json!({"items": [
            group("aws", aws.iter().map(|(kind, short)| resource(kind, short, "kraken")).collect()),
            group("other", vec![resource("Listener", "lst", "kraken")]),
            group("configexport", vec![resource("ConfigExport", "cfgexp", "kraken")]),
            group("core", vec![
                resource("DependencyRequest", "depreq", "kraken-internal"),
                resource("StateDeclaration", "state", "kraken-internal"),
                {
                    let mut grant = resource("ReferenceGrant", "", "kraken-grant");
                    grant["scope"] = json!("Namespaced");
                    grant
                },
                {
                    let mut request = resource("ImportRequest", "", "kraken-import");
                    request["scope"] = json!("Namespaced");
                    request
                },
            ]),
            {"metadata": {"name": "apps"}, "versions": [{"version": "v1", "resources": [resource("Deployment", "deploy", "all")]}]},
        ]});
        Kinds::of(serde_json::from_value(list).unwrap())
    }

    #[test]
    fn a_kind_is_found_in_every_spelling_of_kubectl() {
        let kinds = kinds();
        for word in [
            "SecurityGroup",
            "securitygroup",
            "securitygroups",
            "sg",
            "SG",
            "security-group",
            "securitygroups.aws",
            "sg.aws",
            "securitygroup.aws.kraken-iac.eoinfennessy.com",
            "securitygroups.v1alpha1.aws.kraken-iac.eoinfennessy.com",
        ] {
            assert_eq!(kinds.find(word).unwrap().resource.kind, "SecurityGroup", "{word}");
        }
        for word in ["deployment", "depreq", "sg.gcp", ""] {
            assert!(matches!(kinds.find(word), Err(Unknown::NotFound(_))), "{word}");
        }
    }

    #[test]
    fn a_misspelled_kind_gets_a_suggestion_and_an_ambiguous_one_its_candidates() {
        let kinds = kinds();
        assert_eq!(kinds.find("subnett"), Err(Unknown::NotFound(Some("Subnet".into()))));
        assert_eq!(kinds.find("database"), Err(Unknown::NotFound(None)));
        let Err(Unknown::Ambiguous(candidates)) = kinds.find("listener") else { panic!("found") };
        assert_eq!(candidates.len(), 2);
        assert_eq!(kinds.find(&candidates[0]).unwrap().full_name(), candidates[0]);
    }

    #[test]
    fn only_kinds_that_users_write_are_listed() {
        let kinds = kinds();
        assert!(kinds.users().all(|kind| kind.resource.kind != "DependencyRequest"));
        assert!(kinds.named("DependencyRequest").is_some());
        assert!(kinds.named("Deployment").is_none());
    }

    #[test]
    fn a_kind_on_which_no_controller_reports_is_known_to_plans_only() {
        let (kinds, group) = (kinds(), "core.kraken-iac.eoinfennessy.com");
        assert!(kinds.plain(group, "ReferenceGrant").is_some() && !kinds.has_state(group, "ReferenceGrant"));
        assert!(kinds.plain(group, "DependencyRequest").is_none());
        assert!(kinds.plain("apps", "Deployment").is_none());
        assert!(kinds.has_state("aws.kraken-iac.eoinfennessy.com", "VPC"));
    }

    #[test]
    fn only_static_states_are_those_of_users() {
        let (kinds, group) = (kinds(), "core.kraken-iac.eoinfennessy.com");
        let found = kinds.without_state(group, "StateDeclaration", "static-shared").unwrap();
        assert_eq!(found.plural, "statedeclarations");
        assert!(kinds.without_state(group, "ReferenceGrant", "any").is_some());
        for name in ["vpc.aws.main", "static", "statics-a"] {
            assert!(kinds.without_state(group, "StateDeclaration", name).is_none(), "{name}");
        }
        let listed: Vec<_> = kinds.all_without_state().map(|known| known.kind.as_str()).collect();
        assert_eq!(listed, ["ReferenceGrant", "StateDeclaration"]);
        assert!(kinds.without_state("apps", "StateDeclaration", "static-a").is_none());
        assert!(!kinds.has_state(group, "StateDeclaration"));
    }

    #[test]
    fn a_version_that_is_not_served_is_answered_with_those_that_are() {
        let (kinds, group) = (kinds(), "aws.kraken-iac.eoinfennessy.com");
        assert_eq!(kinds.unserved(group, "VPC", "v1alpha1"), None);
        let message = "VPC has no version \"v1\"; it has v1alpha1";
        assert_eq!(kinds.unserved(group, "VPC", "v1").as_deref(), Some(message));
        assert_eq!(kinds.unserved("apps", "Deployment", "v2"), None, "not a kind of Kraken");
    }
}
