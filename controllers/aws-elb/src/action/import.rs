//! Actions as they are written in a spec. Pure.

use kraken_aws::{
    group::Texts,
    import::{Fields, literal},
};
use serde_json::{Map, Value, json};

use super::{
    Action, ActionState, Forwarding,
    state::{FixedResponseState, RedirectState},
};

/// The action of a spec; none if a spec cannot express it.
pub(crate) fn imported(actions: &[ActionState]) -> Option<Value> {
    Some(match Action::of(actions)? {
        Action::Forward(to) => json!({"forward": forward(&to)}),
        Action::Redirect(texts) => json!({"redirect": changed(&texts, &(&RedirectState::default()).into())}),
        Action::FixedResponse(texts) => {
            json!({"fixedResponse": changed(&texts, &(&FixedResponseState::default()).into())})
        }
    })
}

fn forward(to: &Forwarding) -> Option<Value> {
    let mut fields = Fields::default();
    let mut groups = to.groups.iter();
    if let (Some((arn, 1)), None) = (groups.next(), groups.next()) {
        fields.one("targetGroupARN", Some(arn));
    } else {
        let group = |(arn, weight): (&String, &i32)| {
            let mut group = Fields::default();
            group.one("targetGroupARN", Some(arn));
            group.one_unless("weight", Some(weight), &1);
            group.group()
        };
        fields.own("targetGroups", Some(json!(to.groups.iter().map(group).collect::<Vec<_>>())));
    }
    fields.one_unless("stickinessSeconds", to.stickiness.as_ref(), &0);
    fields.group()
}

/// The texts that differ from AWS's defaults, with numbers as numbers where the spec has a number.
fn changed(texts: &Texts, defaults: &Texts) -> Value {
    let differing = texts.differing(defaults);
    let fields: Map<String, Value> = texts
        .all()
        .filter(|(name, _)| differing.contains(name))
        .map(|(name, text)| {
            let number = (name == "statusCode").then(|| text.parse::<i32>().ok()).flatten();
            (name.to_owned(), number.map_or_else(|| literal(text), literal))
        })
        .collect();
    Value::Object(fields)
}
