//! Values of Secrets.

use std::collections::BTreeMap;

use kraken_options::{
    Element, Elements, MapOpt, Opt, OptionType, Public, Resolved, Resolver, Scrubber, SecretString,
    ValueFrom, Values, summary,
};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{
    config,
    inputs::{elements, secret_source, source, values},
};

/// All output of the resolution of this option.
fn everything_shown<T: OptionType>(source: &ValueFrom, values: &Values) -> String {
    let mut resolver = Resolver::new(values);
    let taken = resolver.take::<T>("field", &Opt::ValueFrom(source.clone()));
    let shown = format!("{taken:?} {resolver:?} {values:?}");
    let resolution = resolver.finish();
    assert!(taken.is_none_or(|taken| taken.is_secret()), "a value from a Secret is not secret");
    let lines: Vec<_> = resolution.problems.iter().map(ToString::to_string).collect();
    format!("{shown} {resolution:?} {lines:?} {}", summary(&resolution.problems))
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_public_option_neither_reads_nor_requests_a_secret(
        elements in elements(prop_oneof![source(), secret_source()]),
        one in prop_oneof![source(), secret_source()],
    ) {
        let values = values("QsecretQ", "public");
        let mut resolver = Resolver::new(&values);
        let keys = (0..elements.len()).map(|n| n.to_string());
        let taken = resolver.take_public_map("tags", &Public(MapOpt(keys.zip(elements).collect())));
        let option = resolver.take_public::<String>("name", &Public(Opt::ValueFrom(one)));
        prop_assert!(option.is_none_or(|option| !option.is_secret()));
        let shown = format!("{taken:?}");
        let resolution = resolver.finish();
        prop_assert!(!shown.contains("QsecretQ"));
        prop_assert!(resolution.dependencies.secrets.is_empty() && resolution.secrets.is_empty());
        prop_assert!(resolution.secret_fields.is_empty());
    }

    #[test]
    fn a_field_that_refers_to_a_secret_is_known_with_and_without_a_value(source in source()) {
        let found = |values: &Values| {
            let mut resolver = Resolver::new(values);
            let _ = resolver.take_from::<String>("field", &source);
            resolver.finish()
        };
        let (nothing, known) = (found(&Values::default()), found(&values("QsecretQ", "public")));
        prop_assert_eq!(&nothing.secret_fields, &known.secret_fields);
        prop_assert_eq!(nothing.secret_fields.is_empty(), nothing.dependencies.secrets.is_empty());
    }

    #[test]
    fn no_secret_element_of_a_list_is_shown(
        mut elements in elements(source()),
        source in secret_source(),
        at in any::<prop::sample::Index>(),
        secret in "Q[A-Za-z0-9]{7,30}Q",
    ) {
        let values = values(&secret, "public");
        elements.insert(at.index(elements.len() + 1), Element::ValueFrom(source));
        let mut resolver = Resolver::new(&values);
        let taken = resolver.take_list("field", &Opt::Value(Elements(elements)));
        prop_assert!(taken.as_ref().is_none_or(Resolved::is_secret));
        let shown = format!("{taken:?} {resolver:?}");
        let resolution = resolver.finish();
        let shown = format!("{shown} {resolution:?} {}", summary(&resolution.problems));
        prop_assert!(!shown.contains(&secret), "{}", shown);
    }

    #[test]
    fn no_secret_is_shown(source in secret_source(), secret in "Q[A-Za-z0-9]{7,30}Q") {
        let secrets = [secret.clone(), format!(" {secret}\n"), format!("[\"{secret}\"]"), format!("{{\"a\": \"{secret}\"}}")];
        for text in secrets {
            let values = values(&text, "public");
            let shown = [
                everything_shown::<String>(&source, &values),
                everything_shown::<i64>(&source, &values),
                everything_shown::<bool>(&source, &values),
                everything_shown::<Vec<i64>>(&source, &values),
                everything_shown::<Vec<String>>(&source, &values),
                everything_shown::<BTreeMap<String, i64>>(&source, &values),
                everything_shown::<Value>(&source, &values),
            ];
            prop_assert!(shown.iter().all(|shown| !shown.contains(&secret)));
        }
    }

    #[test]
    fn scrubbed_text_contains_no_secret(
        secrets in vec("[^*\\s][^*]{2,10}[^*\\s]", 1..4),
        parts in vec((".{0,9}", 0_usize..4), 0..6),
    ) {
        let scrubber = Scrubber::new(&secrets.iter().map(|s| SecretString::from(s.as_str())).collect::<Vec<_>>());
        let part = |(text, n): &(String, usize)| [text.clone(), secrets.get(*n).cloned().unwrap_or_default()];
        let text: String = parts.iter().flat_map(part).collect();
        let scrubbed = scrubber.scrub(&text);
        let value = scrubber.scrub_json(json!({text.clone(): [text.clone(), {"a": text.clone()}]})).to_string();
        for secret in &secrets {
            prop_assert!(!scrubbed.contains(secret.as_str()), "{}", scrubbed);
            prop_assert!(!value.contains(secret.as_str()), "{}", value);
        }
        if !secrets.iter().any(|secret| text.contains(secret.trim())) && text.is_ascii() && !text.contains('*') {
            // No other text is changed, except encoded forms, which such a short text does not contain by chance.
            prop_assert_eq!(scrubbed, text);
        }
    }
}
