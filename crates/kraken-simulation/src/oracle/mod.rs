//! The expected final state according to the specs, ConfigMaps, Secrets and states, computed by simple code that is independent of the
//! controllers.

mod exports;
mod requests;
mod source;
mod values;

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use requests::requests_all;
use source::Source;

use crate::kinds;

/// All objects of a cluster.
#[derive(Debug)]
pub struct Oracle<'a> {
    objects: &'a [Arc<Value>],
}

/// The reasons of a DependencyRequest for missing objects.
const MISSING: [&str; 6] = [
    "ConfigMapNotFound",
    "SecretNotFound",
    "KeyNotFound",
    "StateNotFound",
    "PathNotFound",
    "RefNotPermitted",
];

impl<'a> Oracle<'a> {
    /// Of these objects.
    pub fn of(objects: &'a [Arc<Value>]) -> Self {
        Self { objects }
    }

    /// The contradictions in an object's status, as text.
    pub fn wrong(&self, object: &Value) -> Vec<String> {
        let title = title(object);
        let api = object["apiVersion"].as_str().unwrap_or_default();
        if api.starts_with("aws.") {
            self.wrong_resource(object).into_iter().map(|what| format!("{title} {what}")).collect()
        } else if object["kind"] == "ConfigExport" {
            self.wrong_export(object).into_iter().map(|what| format!("{title} {what}")).collect()
        } else {
            vec![]
        }
    }

    fn wrong_resource(&self, object: &Value) -> Option<String> {
        let ready = crate::check::ready_of(object);
        let lifecycle = &object["spec"]["lifecycle"];
        let deleting = object["metadata"]["deletionTimestamp"].is_string();
        let reason = ready["reason"].as_str()?;
        let is_explained = match reason {
            "Paused" => lifecycle["paused"] == true,
            "AwaitingApproval" => lifecycle["approval"] == "Manual" || lifecycle["adopt"].is_object(),
            "AdoptionRefused" => lifecycle["adopt"].is_object(),
            "DeletionBlocked" => deleting,
            "DeletionProtected" => {
                lifecycle["protect"] == true
                    || object["kind"] == "LoadBalancer"
                    || object["kind"] == "EC2Instance"
            }
            "AccountNotFound" => self.account_of(object).is_none() && account_name(object).is_some(),
            "AccountNotReady" => self.account_of(object).is_some_and(|account| {
                // Nothing begins to use an account that is being deleted.
                is_restricted(account) || account["metadata"]["deletionTimestamp"].is_string()
            }),
            "DependenciesNotReady" => return self.wrong_wait(object),
            "Available" => return self.wrong_ready(object).filter(|_| !deleting),
            _ => true,
        };
        (!is_explained).then(|| format!("has reason {reason}, which its spec does not explain"))
    }

    /// The Account that a resource names, or that all resources of its namespace use.
    fn account_of(&self, object: &Value) -> Option<&Arc<Value>> {
        let name = account_name(object).unwrap_or("default");
        self.find("Account", object["metadata"]["namespace"].as_str()?, name)
    }

    /// Whether a resource reports that its Account does not exist, and it does not.
    pub fn lacks_account(&self, object: &Value) -> bool {
        crate::check::ready_of(object)["reason"] == "AccountNotFound" && self.account_of(object).is_none()
    }

    /// If it reports a missing value, a value must be missing.
    fn wrong_wait(&self, object: &Value) -> Option<String> {
        let request = self.request_of(object);
        let unmet = request.map(|request| request["status"]["unmet"].as_array().cloned().unwrap_or_default());
        let others = unmet
            .into_iter()
            .flatten()
            .any(|unmet| unmet["reason"].as_str().is_some_and(|reason| !MISSING.contains(&reason)));
        let missing = self.sources(object).into_iter().any(|source| self.value(object, &source).is_none());
        let message = &crate::check::ready_of(object)["message"];
        (!missing && !others).then(|| format!("waits for values, and all are there: {message}"))
    }

    /// If it reports everything in place, every value must exist.
    fn wrong_ready(&self, object: &Value) -> Option<String> {
        if object["spec"]["lifecycle"]["paused"] == true {
            return Some("is ready and paused".to_owned());
        }
        if let Some(name) = account_name(object).filter(|_| self.account_of(object).is_none()) {
            return Some(format!("is ready, and there is no Account {name}"));
        }
        if let Some(wrong) = self.wrong_place(object) {
            return Some(wrong);
        }
        let missing = self.sources(object).into_iter().find(|source| self.value(object, source).is_none())?;
        Some(format!("is ready, and {missing:?} has no value"))
    }

    /// Objects stay where they were created. If the Account is elsewhere, the resource is not ready.
    fn wrong_place(&self, object: &Value) -> Option<String> {
        let (account, place) = (&self.account_of(object)?["spec"], &object["status"]["location"]);
        let role = account["assumeRoleARN"].as_str().and_then(|role| role.split(':').nth(4));
        let differs = |wanted: Option<&str>, field: &str| {
            wanted.is_some_and(|wanted| place[field].as_str().is_some_and(|have| have != wanted))
        };
        let is_elsewhere = differs(account["region"].as_str(), "region") || differs(role, "account");
        is_elsewhere.then(|| format!("is ready in {place}, and its Account is elsewhere"))
    }

    /// The number that an option has.
    pub fn number(&self, object: &Value, pointer: &str) -> Option<usize> {
        let option = object.pointer(pointer)?;
        let value = self.option(object, option)?;
        let text = value.as_str().and_then(|text| text.trim().parse().ok());
        value.as_u64().and_then(|number| usize::try_from(number).ok()).or(text)
    }

    /// The desired tags in the spec.
    pub fn tags(&self, object: &Value) -> BTreeMap<String, String> {
        let tags = object["spec"]["tags"].as_object().into_iter().flatten();
        let value = |(key, option): (&String, &Value)| {
            let value = if option.is_string() { option.clone() } else { self.option(object, option)? };
            Some((key.clone(), source::text(&value)))
        };
        tags.filter_map(value).collect()
    }

    fn option(&self, object: &Value, option: &Value) -> Option<Value> {
        match option.get("value") {
            Some(value) => Some(value.clone()),
            None => self.value(object, &Source::of(option.get("valueFrom")?)?),
        }
    }

    /// Every source that a spec refers to.
    fn sources(&self, object: &Value) -> Vec<Source> {
        let mut found = vec![];
        let mut open = vec![&object["spec"]];
        for named in object["spec"]["lifecycle"]["dependsOn"].as_array().into_iter().flatten() {
            // A reference without a used value: the main id, which a resource without a remote object does not have.
            let text = |key: &str| named[key].as_str().unwrap_or_default().to_owned();
            found.push(Source::State(text("kind"), text("name"), None));
        }
        // A KeyPair refers to its generated Secret, which is never generated again after a deletion.
        if let Some(name) = object.pointer("/spec/generate/secretName").and_then(Value::as_str) {
            found.push(Source::Key("Secret", name.to_owned(), "ssh-publickey".to_owned()));
        }
        while let Some(value) = open.pop() {
            if let Some(from) = value.get("valueFrom") {
                found.extend(Source::of(from));
                continue;
            }
            open.extend(value.as_object().into_iter().flat_map(serde_json::Map::values));
            open.extend(value.as_array().into_iter().flatten());
        }
        found
    }

    /// Whether a spec refers to a resource of its namespace by its kind and name, also in a template.
    pub fn refers_to(&self, object: &Value, resource: &Value) -> bool {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (kind, name) = (kinds::key(&text(&resource["kind"])), text(&resource["metadata"]["name"]));
        let mut open = self.sources(object);
        while let Some(source) = open.pop() {
            let is_found = match &source {
                Source::State(of, called, _) => kinds::key(of) == kind && *called == name,
                Source::Key(..) => false,
                Source::Template(template) => {
                    open.extend(Source::all_of_template(template));
                    false
                }
            };
            if is_found {
                return true;
            }
        }
        false
    }

    fn request_of(&self, object: &Value) -> Option<&Arc<Value>> {
        self.objects.iter().find(|request| {
            let owners = request["metadata"]["ownerReferences"].as_array();
            request["kind"] == "DependencyRequest"
                && owners.into_iter().flatten().any(|owner| owner["uid"] == object["metadata"]["uid"])
        })
    }

    fn find(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Value>> {
        self.objects.iter().find(|object| {
            object["kind"] == kind
                && object["metadata"]["namespace"] == namespace
                && object["metadata"]["name"] == name
        })
    }
}

/// The Account that a spec names.
fn account_name(object: &Value) -> Option<&str> {
    object["spec"]["account"]["name"].as_str()
}

/// Whether an Account has anything because of which it may be unusable.
fn is_restricted(account: &Value) -> bool {
    let spec = &account["spec"];
    ["credentials", "allowedAccountIDs", "defaultTags", "assumeRoleARN", "region"]
        .iter()
        .any(|field| !spec[*field].is_null())
}

fn title(object: &Value) -> String {
    let meta = &object["metadata"];
    format!("{} {}/{}", object["kind"], meta["namespace"], meta["name"]).replace('"', "")
}

#[cfg(test)]
mod tests;
