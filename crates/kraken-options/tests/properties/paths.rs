//! Paths and templates.

use kraken_options::{Budget, LookupReason, Path, Template};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    config,
    inputs::{json_value, path_text, template_text},
};

proptest! {
    #![proptest_config(config())]

    #[test]
    fn parsing_and_following_a_path_never_panics(text in path_text(), data in json_value()) {
        if let Ok(path) = Path::parse(&text) {
            let _ = path.find(&data);
        }
    }

    #[test]
    fn parsing_any_text_as_a_path_never_panics(text in ".{0,1100}") {
        let _ = Path::parse(&text);
        let _ = Path::parse(&format!("${text}"));
    }

    #[test]
    fn a_displayed_path_is_parsed_to_the_same_path(text in path_text()) {
        if let Ok(path) = Path::parse(&text) {
            prop_assert_eq!(Path::parse(&path.to_string()), Ok(path));
        }
    }

    #[test]
    fn every_value_of_a_document_is_found_by_its_path(data in json_value()) {
        let mut left = vec![(String::new(), &data)];
        while let Some((path, node)) = left.pop() {
            if !path.is_empty() {
                let found = Path::parse(&path).unwrap().find(&data);
                match found {
                    Ok(found) => prop_assert_eq!(&found, node),
                    Err(error) => {
                        let is_null = matches!(error.reason, LookupReason::Null { .. });
                        prop_assert!(node.is_null() && is_null);
                    }
                }
            }
            match node {
                Value::Array(items) => {
                    left.extend(items.iter().enumerate().map(|(index, item)| (format!("{path}[{index}]"), item)));
                }
                Value::Object(members) => left.extend(members.iter().map(|(key, member)| {
                    let key = key.replace('\\', "\\\\").replace('"', "\\\"");
                    (format!("{path}[\"{key}\"]"), member)
                })),
                _ => {}
            }
        }
    }

    #[test]
    fn a_path_error_shows_no_value(key in "[a-z]{1,5}", path in "[a-z]{1,5}(\\.[a-z0-9]{1,5}){0,3}") {
        let hidden = "HIDDEN-VALUE";
        let data = json!({key.clone(): {"a": hidden, "b": [hidden, {"c": hidden}]}, "z": hidden});
        for path in [path.clone(), format!("{key}.{path}"), format!("{key}.b.{path}"), format!("$.{key}.{path}x")] {
            if let Err(error) = Path::parse(&path).map_or(Ok(Value::Null), |path| path.find(&data)) {
                let (shown, debugged) = (error.to_string(), format!("{error:?}"));
                prop_assert!(!shown.contains(hidden) && !debugged.contains(hidden));
            }
        }
    }

    #[test]
    fn parsing_a_template_never_panics(text in template_text()) {
        if let Ok(template) = Template::parse(&text) {
            let _ = template.render(|_| None);
        }
    }

    #[test]
    fn text_without_two_braces_is_its_own_template(text in ".{0,200}") {
        let text = text.replace("{{", "{ ");
        let rendered = Template::parse(&text).unwrap().render(|_| None).unwrap();
        prop_assert_eq!(rendered.as_str(), text.as_str());
    }

    #[test]
    fn paths_with_a_shared_budget_have_the_same_results_as_alone(
        paths in vec(path_text(), 1..8),
        data in json_value(),
    ) {
        let mut budget = Budget::default();
        for path in paths.iter().filter_map(|text| Path::parse(text).ok()) {
            let before = budget.steps_taken();
            prop_assert_eq!(path.find_within(&data, &mut budget), path.find(&data));
            prop_assert!(budget.steps_taken() >= before);
        }
    }
}
