use super::*;
use crate::cidr;
use proptest::prelude::*;
use regex::Regex;

/// Whether the schema accepts a text, without the rules of CEL.
fn admits(bound: &impl Bound, text: &str) -> bool {
    let schema = bound.schema();
    let length = text.chars().count() as u64;
    let allowed = schema["enum"].as_array().is_none_or(|words| words.iter().any(|word| word == text));
    allowed
        && schema["minLength"].as_u64().is_none_or(|min| length >= min)
        && schema["maxLength"].as_u64().is_none_or(|max| length <= max)
        && schema["pattern"].as_str().is_none_or(|pattern| Regex::new(pattern).unwrap().is_match(text))
}

proptest! {
    #[test]
    fn the_schema_rejects_nothing_that_the_controller_accepts(
        text in prop_oneof![
            r"\PC{0,12}", "(vpc|i)-[a-z0-9]{0,63}", "[0-9]{1,3}(\\.[0-9]{1,3}){3}(/[0-9]{1,3})?",
            "(1?0\\.){3}0/[0-9]{1,2}", "[0-9a-fA-F]{0,4}(:[0-9a-f]{0,4}){0,7}(:1\\.2\\.3\\.4)?/[0-9]{1,3}", "gp[23]",
        ],
    ) {
        let words = Words(&["gp2", "gp3"]);
        prop_assert!(words.check(&text).is_err() || admits(&words, &text), "{}", text);
        prop_assert!(VPC_ID.check(&text).is_err() || admits(&VPC_ID, &text), "{}", text);
        prop_assert!(Length(8).check(&text).is_err() || admits(&Length(8), &text), "{}", text);
        prop_assert!(IPV4.check(&text).is_err() || admits(&IPV4, &text), "{}", text);
        prop_assert_eq!(IPV4.check(&text).is_ok(), text.parse::<std::net::Ipv4Addr>().is_ok());
        prop_assert!(ANY_V4.check(&text).is_err() || admits(&ANY_V4, &text), "{}", text);
        prop_assert!(cidr::v6(&text).is_err() || admits(&CidrV6, &text), "{}", text);
    }
}

#[test]
fn the_schema_rejects_values_out_of_bounds() {
    for wrong in ["", "vpc-", "subnet-1", "vpc-A", "vpc-1 ", &format!("vpc-{}", "0".repeat(61))] {
        assert!(!admits(&VPC_ID, wrong) && VPC_ID.check(wrong).is_err(), "{wrong}");
    }
    for wrong in ["", "10.0.0.0", "10.0.0.0/8", "10.0.0.0/29", "010.0.0.0/16", "10.0.0.256/16", "::/16"] {
        let block = CidrV4(16, 28);
        assert!(!admits(&block, wrong) && block.check(wrong).is_err(), "{wrong}");
    }
    for wrong in ["", "10.0.0.0/8", "2001:db8::", "::/129", "0::/00"] {
        assert!(!admits(&CidrV6, wrong) && cidr::v6(wrong).is_err(), "{wrong}");
    }
    assert!(!admits(&Length(3), "    ") && !admits(&Length(3), "abcd") && admits(&Length(3), "\u{fc}bc"));
    assert_eq!(Range(1, 9).schema(), json!({"minimum": 1, "maximum": 9}));
}
