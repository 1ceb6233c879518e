//! YAML documents as kubectl reads them, with the position of each value: messages name lines, and edits of a text keep its comments. All
//! manifests of users are read here. Pure.

mod build;
mod scalar;
mod spot;

use granit_parser::{Event, Parser};
use serde_json::Value;

use self::build::Builder;
pub(crate) use self::spot::{Failed, Spot};

/// One document of a text.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    pub(crate) value: Value,
    pub(crate) spot: Spot,
    /// Which one of the text, from 1; empty ones count.
    pub(crate) number: usize,
}

/// All documents of a text; empty ones are left out.
///
/// # Errors
/// If the text is no YAML, with the line.
pub(crate) fn documents(text: &str) -> Result<Vec<Document>, Failed> {
    let (mut documents, mut number) = (vec![], 0);
    let mut builder = Builder::default();
    for next in Parser::new_from_str(text) {
        let (event, span) =
            next.map_err(|error| Failed { line: error.marker().line(), message: error.info() })?;
        if event != Event::DocumentEnd {
            builder.take(event, span)?;
            continue;
        }
        number += 1;
        if let Some((value, spot)) = builder.finish().filter(|(value, _)| !value.is_null()) {
            documents.push(Document { value, spot, number });
        }
    }
    Ok(documents)
}

/// Whether this text without quotes is read as a string with the same text.
pub(crate) fn is_plain(text: &str) -> bool {
    matches!(documents(text).as_deref(), Ok([one]) if one.value == text)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    const TEXT: &str = "\
# first
kind: A
spec:
  cidr: {value: 10.0.0.0/16} # why
  tags:
    a.b: {value: \"x\"}
    Team: {value: y}
  list:
  - one
  - {two: 2}
---
---
# second
kind: B
";

    #[test]
    fn each_document_has_its_value_and_lines() {
        let all = documents(TEXT).unwrap();
        let kinds: Vec<_> =
            all.iter().map(|one| (one.value["kind"].as_str().unwrap(), one.spot.line)).collect();
        assert_eq!(kinds, [("A", 2), ("B", 14)]);
    }

    #[test]
    fn a_path_leads_to_the_line_of_its_field_or_of_what_is_around_it() {
        let spot = documents(TEXT).unwrap()[0].spot.clone();
        for (path, line) in [
            ("kind", 2),
            ("spec.cidr.value", 4),
            ("spec.cidr.valueFrom.ref", 4),
            ("spec.tags.a.b.value", 6),
            ("spec.tags[\"a.b\"]", 6),
            ("spec.tags[\"Team\"].value", 7),
            ("spec.list[1].two", 10),
            ("spec.list[7]", 8),
            ("spec.missing", 3),
            ("metadata.name", 2),
        ] {
            assert_eq!(spot.nearest(path).line, line, "{path}");
        }
        assert!(spot.at("spec.cidr.valueFrom").is_none());
    }

    #[test]
    fn the_bytes_of_a_value_are_those_in_the_text() {
        let spot = documents(TEXT).unwrap()[0].spot.clone();
        let text = |path: &str| &TEXT[spot.at(path).unwrap().bytes.clone()];
        assert_eq!(text("spec.cidr.value"), "10.0.0.0/16");
        assert_eq!(text("spec.tags[\"a.b\"].value"), "\"x\"");
        assert_eq!(text("spec.list[0]"), "one");
        assert_eq!(text("spec.list[1]"), "{two: 2}");
    }

    #[test]
    fn a_text_that_is_no_yaml_is_an_error_with_its_line() {
        assert_eq!(documents("a: 1\nb: [\n").unwrap_err().line, 2);
        assert_eq!(documents("a: 1\n---\nb: 1\nb: 2\n").unwrap_err().line, 4);
        assert_eq!(documents("").unwrap().len(), 0);
    }

    fn value(text: &str) -> String {
        documents(text).map_or_else(|failed| failed.to_string(), |all| all[0].value.to_string())
    }

    /// The right column is the output of `YAMLToJSON` of sigs.k8s.io/yaml 1.6.
    #[test]
    fn scalars_and_keys_are_those_of_kubectl() {
        for (text, json) in [
            ("[y, Y, yes, on, On, true, TRUE]", "[true,true,true,true,true,true,true]"),
            ("[n, N, no, NO, off, False]", "[false,false,false,false,false,false]"),
            ("[oN, yEs, 'on', \"y\", t, f]", r#"["oN","yEs","on","y","t","f"]"#),
            ("[~, null, Null, NULL, nULL]", r#"[null,null,null,null,"nULL"]"#),
            ("[010, 0o17, 0O17, 08, 0_8, -017]", "[8,15,15,8,8,-15]"),
            ("[0x_F, 0b11, -0b11, 0b-11, 0b12, 0x]", r#"[15,3,-3,-3,"0b12","0x"]"#),
            ("[1_000, 1__0, +7, -0, _1, 1.5_0]", r#"[1000,10,7,0,"_1",1.5]"#),
            ("[18446744073709551615, -9223372036854775808]", "[18446744073709551615,-9223372036854775808]"),
            ("[1.0, 1e3, .5e3, 1., 0.25, 1e-7]", "[1,1000,500,1,0.25,1e-7]"),
            ("[.1_0, ._1, .1_, ., 1e, 1.2.3]", r#"[0.1,"._1",".1_",".","1e","1.2.3"]"#),
            ("[105e432083614936, 1e400, -1e400]", r#"["105e432083614936","1e400","-1e400"]"#),
            (
                "[2001-12-14, 2001-12-14t21:59:43Z, 12:30, =, <<]",
                r#"["2001-12-14","2001-12-14t21:59:43Z","12:30","=","<<"]"#,
            ),
            ("[!!int '5', !!float 5, !!bool 'yes', !!str 5, !foo 5, ! 5]", r#"[5,5,true,"5","5","5"]"#),
            ("{N: 1, on: 2}", r#"{"false":1,"true":2}"#),
            ("{010: 1, 1_0: 2, -0x1: 3, 2001-12-14: 4}", r#"{"-1":3,"10":2,"2001-12-14":4,"8":1}"#),
            (
                "{1.5: 1, 1e3: 2, 1234567.0: 3, 0.00001: 4, .inf: 5}",
                r#"{".inf":5,"1.234567e+06":3,"1.5":1,"1000":2,"1e-05":4}"#,
            ),
            ("{!!str 1: 2, 'on': 3}", r#"{"1":2,"on":3}"#),
        ] {
            let json: Value = serde_json::from_str(json).unwrap();
            assert_eq!(value(text), json.to_string(), "{text}");
        }
    }

    #[test]
    fn aliases_and_merge_keys_are_those_of_kubectl() {
        for (text, json) in [
            ("b: &b x\nc: [*b, *b]\n*b : 1\n", r#"{"b":"x","c":["x","x"],"x":1}"#),
            ("<<: {a: 2}\na: 1\n", r#"{"a":1}"#),
            ("a: 1\n<<: {a: 2}\n", r#"{"a":2}"#),
            ("b: &b {c: 1}\n<<: [*b, {c: 2, d: 3}]\n", r#"{"b":{"c":1},"c":1,"d":3}"#),
            ("'<<': 1\n", r#"{"<<":1}"#),
            ("b: &b x\n---\na: &b y\nc: *b\n", r#"{"b":"x"}"#),
        ] {
            assert_eq!(value(text), json, "{text}");
        }
    }

    #[test]
    fn what_kubectl_rejects_is_an_error_that_says_why() {
        for (text, why) in [
            ("a: .inf", "line 1: .inf is not a number in JSON: quote it if it is a text"),
            ("~: 1", "line 1: a key is null: quote it if it is a text"),
            ("[a]: 1", "line 1: a map or a list cannot be a key"),
            ("a: !!int b", "line 1: \"b\" is not of the type of its tag !!int"),
            ("a: &a [*a]", "line 1: the value of an anchor contains itself"),
            ("<<: 1", "line 1: the value of << must be a map or a list of maps"),
            ("on: 1\ntrue: 2", "line 2: duplicate mapping key \"true\": it is in line 1 already"),
        ] {
            assert_eq!(value(text), why, "{text}");
        }
    }

    #[test]
    fn aliases_of_aliases_cannot_fill_the_memory() {
        let mut text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let all = vec![format!("*a{}", level - 1); 10].join(", ");
            writeln!(text, "a{level}: &a{level} [{all}]").unwrap();
        }
        assert!(value(&text).ends_with("the aliases add more than 16 MiB"));
        let mut text = "a0: &a0 [x]\n".to_owned();
        for level in 1..600 {
            writeln!(text, "a{level}: &a{level} [*a{}]", level - 1).unwrap();
        }
        assert!(value(&text).ends_with("more than 512 values inside each other"));
    }

    #[test]
    fn json_and_texts_of_other_systems_are_read() {
        for text in [
            "{\n\t\"a\": [1, \"b\"]\n}\n",
            "\u{feff}a: [1, b]\n",
            "a:\r\n- 1\r\n- b\r\n",
            "--- # first\na: [1, b]\n...\n",
        ] {
            assert_eq!(value(text), r#"{"a":[1,"b"]}"#, "{text:?}");
        }
    }

    #[test]
    fn what_this_program_writes_is_read_as_it_was() {
        let texts = [
            "y",
            "N",
            "on",
            "Off",
            "yes",
            "010",
            "0o7",
            "1_000",
            "0b1",
            "0x1f",
            "105e43",
            "1e400",
            "~",
            "",
            "2001-12-14",
            "=",
            "<<",
            "1e3",
            ".5",
            "+1",
            "-.inf",
            ".1_0",
            "a: b",
            "# a",
            "true",
            "12:30",
        ];
        let written: Value = texts.iter().map(|text| ((*text).to_owned(), Value::from(*text))).collect();
        let text = serde_saphyr::to_string(&written).unwrap();
        assert_eq!(documents(&text).unwrap()[0].value, written, "{text}");
    }

    #[test]
    fn a_text_is_plain_if_kubectl_reads_it_as_it_is() {
        assert!(is_plain("main") && is_plain("105e432083614936") && is_plain("a.b-c"));
        for text in ["on", "010", "1e3", "null", "", "a: b", "# a", "'a'"] {
            assert!(!is_plain(text), "{text}");
        }
    }
}
