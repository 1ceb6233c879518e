//! What is asked of the controller while it is being killed.

use std::time::Duration;

use serde_json::{Value, json};

use super::cloud::LAG;

/// What somebody wants of one EC2Instance.
#[derive(Debug, Clone)]
pub(super) struct Wish {
    pub(super) count: usize,
    pub(super) image: &'static str,
    /// `lifecycle.replace`.
    pub(super) replace: &'static str,
    pub(super) instance_type: &'static str,
    pub(super) tags: &'static [(&'static str, &'static str)],
    /// The instance type comes from a ConfigMap.
    pub(super) referenced: bool,
    /// The instance that is there is to be taken over.
    pub(super) adopts: bool,
    /// `lifecycle.disruption` is `Allow`, and a stopped instance is no drift.
    pub(super) disrupts: bool,
}

const ONE: Wish = Wish {
    count: 1,
    image: IMAGE,
    replace: "Never",
    instance_type: "t2.nano",
    tags: &[("Team", "web")],
    referenced: false,
    adopts: false,
    disrupts: false,
};
const THREE: Wish = Wish { count: 3, ..ONE };

/// The object's name.
pub(super) const NAME: &str = "a";
/// An image that moto knows.
pub(super) const IMAGE: &str = "ami-12c6146b";
const OTHER_IMAGE: &str = "ami-0b301ce3ce3475b4f";
/// The tag of what may be adopted.
pub(super) const ADOPTABLE: &str = "Adoptable";
pub(super) const CONFIG_MAP: &str = "sizes";

impl Wish {
    pub(super) fn object(&self) -> Value {
        let instance_type = if self.referenced {
            json!({"valueFrom": {"configMap": {"name": CONFIG_MAP, "key": "size"}}})
        } else {
            json!({"value": self.instance_type})
        };
        let tags: serde_json::Map<String, Value> =
            self.tags.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let mut lifecycle = json!({"replace": self.replace});
        if self.adopts {
            lifecycle["adopt"] = json!({"tags": {ADOPTABLE: "yes"}});
            lifecycle["deletion"] = json!("Delete");
        }
        if self.disrupts {
            lifecycle["disruption"] = json!("Allow");
            lifecycle["ignoreChanges"] = json!(["state"]);
        }
        json!({
            "apiVersion": "aws.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "EC2Instance",
            "metadata": {"name": NAME},
            "spec": {
                "imageID": {"value": self.image}, "instanceType": instance_type, "tags": tags,
                "minCount": {"value": 1}, "maxCount": {"value": self.count},
                "lifecycle": lifecycle,
            },
        })
    }
}

/// What is done while faults are armed.
#[derive(Debug, Clone)]
pub(super) enum Act {
    Apply(Wish),
    Delete,
    /// Replaced: so many may live at once, and so many must.
    Replace {
        wish: Wish,
        least: usize,
        most: usize,
    },
    /// Deleted, and created again under the same name.
    Recreate(Wish),
    /// Wanted, and deleted as soon as the launch was asked for.
    Abandon(Wish),
    /// Wanted, and changed as soon as the launch was asked for.
    Hurry(Wish, Wish),
    /// So many at once, at a cloud that throttles. Without faults.
    Throttle(usize, Wish),
    /// Wanted, and the control plane dies when the launch is asked for. Without faults, and alone.
    Outage(Wish),
}

/// One story.
#[derive(Debug, Clone)]
pub struct Scenario {
    /// Its name on the command line.
    pub name: &'static str,
    /// What is there before, undisturbed.
    pub(super) first: Option<Wish>,
    /// Whether an instance that could be adopted is there before.
    pub(super) outside: bool,
    /// Whether the instances are stopped, by somebody else, in between.
    pub(super) stopped: bool,
    pub(super) act: Act,
    /// How long the cloud's reads lag behind.
    pub(super) lag: Duration,
    /// How many instances a launch gets at most.
    pub(super) per_launch: Option<usize>,
}

const LONG_LAG: Duration = Duration::from_secs(4);

/// All of them.
pub fn scenarios() -> Vec<Scenario> {
    let story = |name, first, act| Scenario {
        name,
        first,
        outside: false,
        stopped: false,
        act,
        lag: LAG,
        per_launch: None,
    };
    let tagged = Wish { tags: &[("Team", "web"), ("Old", "yes")], ..ONE };
    let other = Wish { tags: &[("Team", "shop")], ..ONE };
    vec![
        story("create", None, Act::Apply(ONE)),
        story("refer", None, Act::Apply(Wish { referenced: true, ..ONE })),
        story("grow", Some(ONE), Act::Apply(THREE)),
        story("shrink", Some(THREE), Act::Apply(ONE)),
        story("tag", Some(tagged), Act::Apply(other.clone())),
        Scenario {
            stopped: true,
            ..story("type", Some(ONE), Act::Apply(Wish { instance_type: "t2.micro", ..ONE }))
        },
        story("resize", Some(ONE), Act::Apply(Wish { instance_type: "t2.micro", disrupts: true, ..ONE })),
        story("delete", Some(Wish { count: 2, ..ONE }), Act::Delete),
        story("recreate", Some(ONE), Act::Recreate(ONE)),
        story(
            "create-first",
            Some(ONE),
            Act::Replace {
                wish: Wish { image: OTHER_IMAGE, replace: "CreateFirst", ..ONE },
                least: 1,
                most: 2,
            },
        ),
        story(
            "delete-first",
            Some(ONE),
            Act::Replace {
                wish: Wish { image: OTHER_IMAGE, replace: "DeleteFirst", ..ONE },
                least: 0,
                most: 1,
            },
        ),
        Scenario {
            per_launch: Some(1),
            ..story(
                "trickle",
                Some(Wish { count: 2, ..ONE }),
                Act::Replace {
                    wish: Wish { count: 2, image: OTHER_IMAGE, replace: "CreateFirst", ..ONE },
                    least: 2,
                    most: 4,
                },
            )
        },
        Scenario { lag: LONG_LAG, ..story("lag", None, Act::Apply(THREE)) },
        story("abandon", None, Act::Abandon(ONE)),
        story("hurry", None, Act::Hurry(ONE, Wish { count: 2, ..other })),
        Scenario { outside: true, ..story("adopt", None, Act::Apply(Wish { adopts: true, ..ONE })) },
        story("throttle", None, Act::Throttle(200, ONE)),
        story("outage", None, Act::Outage(THREE)),
    ]
}
