use super::*;
use crate::Path;
use serde_json::json;

fn config_map(name: &str, key: &str) -> Dependency {
    Dependency::ConfigMap(KeyRef { name: name.into(), key: key.into() })
}

fn secret(name: &str, key: &str) -> Dependency {
    Dependency::Secret(KeyRef { name: name.into(), key: key.into() })
}

fn resource(kind: &str, name: &str, path: &str) -> Dependency {
    Dependency::Resource(ResourceRef::of(kind, name, path))
}

fn references(text: &str) -> Vec<Dependency> {
    Template::parse(text).expect(text).references().cloned().collect()
}

fn render(text: &str, value: &Value) -> Result<String, RenderError> {
    let template = Template::parse(text).expect(text);
    template.render(|_| Some(Piece::Json(value))).map(|text| text.to_string())
}

fn rejects(text: &str, at: usize, expected: &str) {
    let error = Template::parse(text).expect_err(text);
    let TemplateError::Syntax { at: found, expected: said } = &error else { panic!("{text}: {error}") };
    assert_eq!(*found, at, "{text}: {error}");
    assert!(said.contains(expected), "{text}: {error}");
}

#[test]
fn references_are_found_without_rendering() {
    assert_eq!(references("{{ .ConfigMap.app.port }}"), [config_map("app", "port")]);
    assert_eq!(references("{{.Secret.db.password}}"), [secret("db", "password")]);
    assert_eq!(references("{{ .config-map.app.port }}"), [config_map("app", "port")]);
    assert_eq!(
        references("http://{{ .LoadBalancer.web.dnsName }}:{{ .ConfigMap.app.port }}/"),
        [resource("loadbalancer", "web", "dnsName"), config_map("app", "port")]
    );
}

#[test]
fn a_resource_without_a_path_renders_its_main_id() {
    assert_eq!(references("{{ .VPC.main }}"), [resource("vpc", "main", "")]);
    assert_eq!(
        references(r#"{{.VPC["my.vpc"]}}/{{ .VPC.b }}"#),
        [resource("vpc", "my.vpc", ""), resource("vpc", "b", "")]
    );
    assert_eq!(render("vpc={{ .VPC.main }}", &json!("vpc-1")).as_deref(), Ok("vpc=vpc-1"));
}

#[test]
fn names_with_dots_are_in_brackets() {
    assert_eq!(references(r#"{{ .ConfigMap["my.app"]["key.x"] }}"#), [config_map("my.app", "key.x")]);
    assert_eq!(references("{{ .ConfigMap['my.app'].key }}"), [config_map("my.app", "key")]);
    assert_eq!(
        references(r#"{{ .EC2-Instance["a.b"].instances.0["x.io/y"].z }}"#),
        [resource("ec2instance", "a.b", r#"instances.0["x.io/y"].z"#)]
    );
}

#[test]
fn a_kind_with_its_group_is_in_brackets() {
    for text in [r#"{{ .["VPC.AWS"].main }}"#, r#"{{ ["vpc.aws"].main }}"#, "{{ .['V-PC.aws'].main }}"] {
        assert_eq!(references(text), [resource("vpc.aws", "main", "")], "{text}");
    }
    assert_eq!(references(r#"{{ .["VPC.aws"].main.cidr }}"#), [resource("vpc.aws", "main", "cidr")]);
}

#[test]
fn the_path_of_a_reference_is_a_path() {
    for text in ["{{ .A.b.c }}", "{{ .A.b[0].c }}", r#"{{ .A.b["$x"] }}"#, "{{ .A.b.c['}}'] }}"] {
        for reference in references(text) {
            let Dependency::Resource(reference) = reference else { panic!("{text}") };
            assert!(Path::parse(&reference.path).is_ok(), "{}", reference.path);
        }
    }
}

#[test]
fn text_around_references_is_unchanged() {
    for text in ["", "plain", "a { b } c", "}}", "} }", "{ {", "{", "ä\n\t\0 "] {
        assert_eq!(render(text, &json!(1)).as_deref(), Ok(text));
    }
    assert_eq!(render("}}{{ .A.b.c }}}}", &json!("x")).as_deref(), Ok("}}x}}"));
    assert_eq!(render("a{{\n.A.b.c\t}}{{.A.b.c}}b", &json!("x")).as_deref(), Ok("axxb"));
}

#[test]
fn quoted_text_is_rendered_literally() {
    assert_eq!(render(r#"{{ "{{" }} .x }}"#, &json!(1)).as_deref(), Ok("{{ .x }}"));
}

#[test]
fn strings_render_unchanged_and_other_types_as_json() {
    for (value, text) in [
        (json!("a\"b"), "a\"b"),
        (json!(3), "3"),
        (json!(true), "true"),
        (json!(["a", 1]), "[\"a\",1]"),
        (json!({"a": null}), "{\"a\":null}"),
    ] {
        assert_eq!(render("{{ .A.b.c }}", &value).as_deref(), Ok(text));
    }
}

#[test]
fn a_rendered_value_is_not_parsed_as_a_template() {
    assert_eq!(render("{{ .A.b.c }}", &json!("{{ .Secret.x.y }}")).as_deref(), Ok("{{ .Secret.x.y }}"));
}

#[test]
fn a_malformed_reference_is_reported_with_its_position() {
    rejects("a {{ b }}", 5, "a reference");
    rejects("{{", 2, "a reference");
    rejects("{{}}", 2, "a reference");
    rejects("{{{ .A.b.c }}}", 2, "a reference");
    rejects("{{- .A.b.c }}", 2, "a reference");
    rejects("{{ . }}", 4, "a kind");
    rejects("{{ .A }}", 5, "the name of the object");
    rejects("{{ .ConfigMap.app }}", 17, "a key");
    rejects("{{ .LoadBalancer.web. }}", 21, "a name");
    rejects("{{ .LoadBalancer.web dns }}", 21, "\"}}\"");
    rejects("{{ .ConfigMap.app.a.b }}", 19, "in brackets");
    rejects("{{ .A.b.c", 9, "\"}}\"");
    rejects("{{ .A.b.c | upper }}", 10, "\"}}\"");
    rejects("{{ .A.b.c }", 10, "\"}}\"");
    rejects("{{ .A.b..c }}", 8, "a name");
    rejects("{{ .A.b[\"c }}", 13, "the quote");
    rejects("{{ .A.b.$.c }}", 7, "do not support JSONPath");
    rejects("ä{{ range .x }}", 5, "a reference");
    rejects("{{ .ConfigMap.app.port }}{{ .Secret.db }}", 38, "a key");
}

#[test]
fn a_secret_part_makes_the_whole_secret() {
    assert!(Template::parse("{{ .ConfigMap.a.b }}{{ .Secret.a.b }}").unwrap().has_secret());
    assert!(!Template::parse("{{ .ConfigMap.a.b }}").unwrap().has_secret());
}

#[test]
fn templates_and_their_text_are_bounded() {
    assert!(Template::parse(&"ä".repeat(MAX_TEMPLATE)).is_ok());
    assert_eq!(Template::parse(&"ä".repeat(MAX_TEMPLATE + 1)), Err(TemplateError::TooLong));
    let many = "{{.A.b.c}}".repeat(6000);
    assert_eq!(render(&many, &json!("x".repeat(1000))), Err(RenderError::TooLong));
    assert_eq!(render(&many, &json!(["x".repeat(1000)])), Err(RenderError::TooLong));
    let deep = (0..1000).fold(json!(1), |inner, _| json!([inner]));
    assert_eq!(render("{{.A.b.c}}", &deep), Err(RenderError::TooDeep(resource("a", "b", "c"))));
}

#[test]
fn a_reference_without_a_value_is_missing() {
    let rendered = Template::parse("{{ .A.b.c }}").unwrap().render(|_| None);
    assert_eq!(rendered, Err(RenderError::Missing(resource("a", "b", "c"))));
}

#[test]
fn known_values_take_the_place_of_their_references_and_the_rest_stays() {
    let text = r#"a {{ .VPC.main }} { {{.ConfigMap.app.port}} {{ "{{" }} {{ .VPC.main.vpc.CidrBlock }}"#;
    let of = |reference: &Dependency| match reference {
        Dependency::Resource(of) if of.is_id() => Some("vpc-1".to_owned()),
        Dependency::ConfigMap(_) => Some("{{ x }}".to_owned()),
        _ => None,
    };
    let filled = Template::filled(text, of).unwrap().unwrap();
    assert_eq!(filled, r#"a vpc-1 { {{ "{{" }} x }} {{ "{{" }} {{ .VPC.main.vpc.CidrBlock }}"#);
    // What was filled is text of the template.
    let left: Vec<_> = Template::parse(&filled).unwrap().references().cloned().collect();
    assert_eq!(left.len(), 1);
    assert_eq!(Template::filled(text, |_| None), Ok(None));
    assert!(Template::filled("{{ x", |_| None).is_err());
}
