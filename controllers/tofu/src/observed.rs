//! What is desired and observed of a resource. Their `Debug` shows no secret values.

use std::{collections::BTreeMap, fmt, sync::Arc};

use kraken_kind::dynamic::{Observed, ObservedObject};
use kraken_tfplugin::{Plan, ResourceState, Value, masked, schema::Schema};

/// The desired state: a configuration without unknown values.
#[derive(Clone)]
pub(crate) struct Desired {
    pub(crate) config: Value,
    pub(crate) schema: Arc<Schema>,
    /// The fields at the top level whose values came from Secrets, with the versions of these.
    pub(crate) secret: BTreeMap<String, Vec<String>>,
    /// The name of the Secret for the sensitive outputs, if there shall be one. No parameter of a launch.
    pub(crate) outputs: Option<String>,
}

/// With hidden secret values: a digest of it says whether two launches have the same parameters.
impl fmt::Debug for Desired {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = masked(&self.schema.block, &self.config);
        if let Some(fields) = shown.as_object_mut() {
            fields.retain(|name, _| !self.secret.contains_key(name));
        }
        write!(f, "{shown} {:?}", self.secret)
    }
}

/// One object of the provider.
#[derive(Clone, Debug)]
pub(crate) struct Object {
    /// The id that the type's import accepts.
    pub(crate) id: String,
    /// The launch that created it.
    pub(crate) epoch: i64,
    /// Whether its description has a marker: one that was adopted has none.
    pub(crate) is_marked: bool,
    /// As it was just read.
    pub(crate) state: ResourceState,
    /// What would make it as desired; `None` before it is examined.
    pub(crate) plan: Option<Arc<Plan>>,
}

impl Object {
    /// It as the loop sees it.
    pub(crate) fn observed(self) -> ObservedObject {
        let (id, epoch) = (self.id.clone(), self.epoch);
        ObservedObject::new(id, self).of_launch(epoch)
    }
}

/// The main object of a resource. During a replacement, there is another one.
pub(crate) fn main_object(observed: &Observed) -> Option<&Object> {
    observed.objects().first().map(ObservedObject::get)
}
