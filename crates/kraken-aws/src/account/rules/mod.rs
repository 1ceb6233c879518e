//! What an Account adds to the specs that use it, and what it forbids. Pure.

use kraken_kind::{
    Adopt, Location,
    account::Rules,
    options::{Governed, Problem, Restricted, RestrictedValue, matches},
};
use sha2::{Digest, Sha256};

use super::api::{AccountSpec, Allow, GROUP};
use crate::tags;

/// The fields whose values `allow` restricts.
pub const RESTRICTED: &[Restricted] = &[
    Restricted { name: VPC, kind: ("VPC", GROUP) },
    Restricted { name: PEER_VPC, kind: ("VPC", GROUP) },
    Restricted { name: SUBNET, kind: ("Subnet", GROUP) },
    Restricted { name: SUBNETS, kind: ("Subnet", GROUP) },
    Restricted { name: PROFILE, kind: ("", "") },
    Restricted { name: DB_SUBNET_GROUP, kind: ("DBSubnetGroup", GROUP) },
    Restricted { name: LAUNCH_TEMPLATE, kind: ("LaunchTemplate", GROUP) },
];
const VPC: &str = "vpcID";
/// A peering connection reaches it.
const PEER_VPC: &str = "peerVPCID";
const SUBNET: &str = "subnetID";
const SUBNETS: &str = "subnetIDs";
const PROFILE: &str = "iamInstanceProfile";
/// It has subnets.
const DB_SUBNET_GROUP: &str = "dbSubnetGroupName";
/// It has a profile.
const LAUNCH_TEMPLATE: &str = "launchTemplateID";

/// The fields that an object named by this field decides in place of the spec.
fn decided_by(field: &str) -> &'static [&'static str] {
    match field {
        DB_SUBNET_GROUP => &[SUBNET, VPC],
        LAUNCH_TEMPLATE => &[PROFILE],
        _ => &[],
    }
}

/// The rules of one Account.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountRules {
    name: String,
    governed: Governed,
    digest: String,
    allow: Allow,
    allowed_account_ids: Vec<String>,
}

impl AccountRules {
    /// Those of the Account of this name.
    ///
    /// # Errors
    /// Why it cannot be used with any credentials.
    pub fn of(name: &str, spec: &AccountSpec) -> Result<Self, String> {
        let problems = tags::problems(&spec.default_tags);
        if !problems.is_empty() {
            let one = |(key, why): &(Option<&str>, String)| match key {
                Some(key) => format!("spec.defaultTags[{key:?}] {why}"),
                None => format!("spec.defaultTags {why}"),
            };
            return Err(problems.iter().map(one).collect::<Vec<_>>().join("; "));
        }
        let allow = spec.allow.clone().unwrap_or_default();
        let governed = Governed {
            defaults: [("tags".to_owned(), spec.default_tags.clone())].into(),
            fields: if spec.allow.is_some() { RESTRICTED } else { &[] },
        };
        let allowed_account_ids = spec.allowed_account_ids.clone();
        let digest = digest(spec);
        Ok(Self { name: name.to_owned(), governed, digest, allow, allowed_account_ids })
    }

    /// The patterns for a field, and the path of the rule; `None` if everything is allowed.
    fn patterns(&self, field: &str) -> Option<(&'static str, &[String])> {
        let (rule, patterns) = match field {
            VPC | PEER_VPC => ("vpcs", &self.allow.vpcs),
            SUBNET | SUBNETS => ("subnets", &self.allow.subnets),
            PROFILE => ("instanceProfiles", &self.allow.instance_profiles),
            _ => return None,
        };
        patterns.as_deref().map(|patterns| (rule, patterns))
    }

    /// AWS chooses the value of a field that is not set, and a subnet that it chooses is in a VPC that it chooses: allowed only
    /// if the rules about them allow everything.
    fn refused_default(&self, taken: &RestrictedValue) -> Option<Problem> {
        let chosen: &[&str] = match taken.name {
            SUBNET | SUBNETS => &[SUBNET, VPC],
            name if decided_by(name).is_empty() => &[name],
            name => decided_by(name),
        };
        let rule = self.restricts(chosen)?;
        let message = format!("is required by spec.allow.{rule} of Account {}", self.name);
        Some(Problem::invalid(&taken.field, message))
    }

    /// The first rule that does not allow everything in one of these fields.
    fn restricts(&self, fields: &[&str]) -> Option<&'static str> {
        let rules = fields.iter().filter_map(|field| self.patterns(field));
        rules.filter(|(_, patterns)| !patterns.iter().any(|any| any == "*")).map(|(rule, _)| rule).next()
    }

    /// A rule cannot be applied to what an object of others has. One of this namespace was created under the same rules.
    fn refused_object(&self, taken: &RestrictedValue) -> Option<Problem> {
        let rule = self.restricts(decided_by(taken.name)).filter(|_| !taken.is_main_id)?;
        let kind = RESTRICTED.iter().find(|field| field.name == taken.name).map_or("", |field| field.kind.0);
        let message = format!(
            "must refer to a {kind} of this namespace, such as {{valueFrom: {{ref: {kind}/NAME}}}}: spec.allow.{rule} of Account {} \
             cannot be applied to another one",
            self.name
        );
        Some(Problem::invalid(&taken.field, message))
    }

    fn refused_value(&self, taken: &RestrictedValue) -> Option<Problem> {
        if taken.is_default {
            return self.refused_default(taken);
        }
        if !decided_by(taken.name).is_empty() {
            return self.refused_object(taken);
        }
        let (rule, patterns) = self.patterns(taken.name).filter(|_| !taken.is_main_id)?;
        let rule = format!("spec.allow.{rule} of Account {}", self.name);
        let message = match &taken.texts {
            None => format!("comes from a Secret, so that {rule} cannot be applied"),
            Some(texts) => {
                let refused: Vec<&str> =
                    texts.iter().filter(|text| !any(patterns, text)).map(String::as_str).collect();
                if refused.is_empty() {
                    return None;
                }
                format!("{} is not allowed by {rule}: {}", refused.join(", "), listed(patterns))
            }
        };
        Some(Problem::invalid(&taken.field, message))
    }

    fn refused_adoption(&self, adopt: &Adopt) -> Option<Problem> {
        let allowed = self.allow.adopt.as_ref()?;
        let rule = |part: &str| format!("spec.allow.adopt.{part} of Account {}", self.name);
        match adopt {
            Adopt::Id(wanted) if any(&allowed.ids, &wanted.id) => None,
            Adopt::Id(wanted) => {
                let id = &wanted.id;
                let message =
                    format!("{id} must not be adopted, by {}: {}", rule("ids"), listed(&allowed.ids));
                Some(Problem::invalid("lifecycle.adopt.id", message))
            }
            Adopt::Tags(wanted) => {
                let is_searched = |(key, pattern): &(&String, &String)| {
                    wanted.tags.get(*key).is_some_and(|value| matches(pattern, value))
                };
                if !allowed.tags.is_empty() && allowed.tags.iter().all(|tag| is_searched(&tag)) {
                    return None;
                }
                let tags: Vec<String> =
                    allowed.tags.iter().map(|(key, value)| format!("{key}: {value}")).collect();
                let message = if tags.is_empty() {
                    format!("nothing may be adopted by tags, by {}", rule("tags"))
                } else {
                    format!("must search for {}, by {}", tags.join(", "), rule("tags"))
                };
                Some(Problem::invalid("lifecycle.adopt.tags", message))
            }
        }
    }
}

impl Rules for AccountRules {
    fn governed(&self) -> &Governed {
        &self.governed
    }

    fn digest(&self) -> &str {
        &self.digest
    }

    fn refused(&self, taken: &[RestrictedValue], adopt: Option<&Adopt>) -> Vec<Problem> {
        let values = taken.iter().filter_map(|taken| self.refused_value(taken));
        values.chain(adopt.and_then(|adopt| self.refused_adoption(adopt))).collect()
    }

    fn location_violation(&self, here: &Location) -> Option<String> {
        let allowed = &self.allowed_account_ids;
        (!allowed.is_empty() && !allowed.contains(&here.account)).then(|| {
            format!(
                "the credentials of Account {} belong to AWS account {}, and spec.allowedAccountIDs is {}: nothing is \
                 observed or changed there",
                self.name,
                here.account,
                listed(allowed)
            )
        })
    }

    fn name(&self) -> &str {
        &self.name
    }
}

/// A digest of the default tags; empty if there are none.
fn digest(spec: &AccountSpec) -> String {
    if spec.default_tags.is_empty() {
        return String::new();
    }
    let text = serde_json::to_string(&spec.default_tags).unwrap_or_default();
    format!("{:x}", Sha256::digest(text)).chars().take(16).collect()
}

fn listed(patterns: &[String]) -> String {
    format!("[{}]", patterns.join(", "))
}

fn any(patterns: &[String], text: &str) -> bool {
    patterns.iter().any(|pattern| matches(pattern, text))
}

#[cfg(test)]
mod tests;
