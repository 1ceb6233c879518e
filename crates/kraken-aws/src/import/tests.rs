use serde_json::json;

use super::*;
use crate::Tags;

#[derive(Clone)]
struct Disk(Tags);

impl Tagged for Disk {
    fn id(&self) -> &'static str {
        "vol-1"
    }

    fn tags(&self) -> &Tags {
        &self.0
    }
}

fn tags(list: &[(&str, &str)]) -> Tags {
    list.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn absent_values_and_those_that_aws_chooses_are_not_written() {
    let mut fields = Fields::default();
    fields.one("a", Some(&1));
    fields.one("b", None::<&i32>);
    fields.one("c", Some(&String::new()));
    fields.one_unless("d", Some(&"default".to_owned()), "default");
    fields.one_unless("e", Some(&true), &false);
    fields.list::<String>("f", &[]);
    fields.list("g", &["x"]);
    fields.own("h", None);
    fields.own("i", Some(json!([{}])));
    let wanted = json!({"a": {"value": 1}, "e": {"value": true}, "g": {"value": ["x"]}, "i": [{}]});
    assert_eq!(fields.group(), Some(wanted));
    assert_eq!(Fields::default().group(), None);
}

#[test]
fn the_name_is_the_tag_or_a_name_that_a_user_gave() {
    let named = |list, spec: &Value| name_of(&Disk(tags(list)), Some(spec));
    let with_name = json!({"groupName": {"value": "web"}});
    assert_eq!(named(&[("Name", "data")], &with_name).as_deref(), Some("data"));
    assert_eq!(named(&[("Name", "")], &with_name).as_deref(), Some("web"));
    let generated = json!({"name": {"value": "kraken-0123456789abcdef0123"}});
    assert_eq!(named(&[], &generated), None);
}

#[test]
fn another_manager_is_named() {
    let note = managed_elsewhere(&tags(&[("aws:cloudformation:stack-name", "net")])).unwrap();
    assert!(note.contains("CloudFormation stack net"), "{note}");
    assert_eq!(managed_elsewhere(&tags(&[("Team", "shop")])), None);
}
