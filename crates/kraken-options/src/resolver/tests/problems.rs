//! Problems of options.

use super::*;
use crate::dependency::Dependency;
use crate::json_type::JsonType;

#[test]
fn a_malformed_short_reference_is_reported_with_its_part() {
    fails::<String>(
        &short("main"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.ref: \"main\" is not KIND/NAME or KIND/NAME/PATH, for example VPC/main or \
         VPC/main/vpc.CidrBlock",
    );
    let name = "\"Main\" is not a name of an object (lower case letters, digits, \"-\" and \".\")";
    fails::<String>(
        &short("VPC/Main"),
        ProblemKind::Invalid,
        &format!("spec.field.valueFrom.ref: its name: {name}"),
    );
    fails::<String>(
        &short("VPC/main/a..b"),
        ProblemKind::Path,
        "spec.field.valueFrom.ref: its path: expected a name at byte 2",
    );
}

#[test]
fn a_missing_dependency_is_named() {
    fails::<String>(
        &config_map("sizes", "huge"),
        ProblemKind::Missing,
        "spec.field: ConfigMap sizes has no key \"huge\"",
    );
    fails::<String>(
        &config_map("app", "port"),
        ProblemKind::Missing,
        "spec.field: waiting for ConfigMap app key \"port\"",
    );
    fails::<String>(&secret("db", "user"), ProblemKind::Missing, "spec.field: Secret db has no key \"user\"");
    fails::<String>(
        &resource("EC2Instance", "a", "instances.0.InstanceType"),
        ProblemKind::Missing,
        "spec.field: waiting for ec2instance a path instances.0.InstanceType",
    );
    fails::<Value>(
        &resource("loadbalancer", "web", "none"),
        ProblemKind::Missing,
        "spec.field: waiting for loadbalancer web path none",
    );
    fails::<String>(
        &template("{{ .Secret.x.y }}{{ .Secret.x.y }}"),
        ProblemKind::Missing,
        "spec.field: waiting for Secret x key \"y\"",
    );
}

#[test]
fn the_cause_of_a_missing_value_is_found_for_every_spelling_of_its_kind() {
    let mut values = values();
    let reference = ResourceRef::of("subnet", "a", "id");
    values.causes.insert(Dependency::Resource(reference), "subnet a does not exist".into());
    let mut resolver = Resolver::new(&values);
    assert_eq!(resolver.take::<String>("field", &resource("Sub-Net", "a", "id")), None);
    assert_eq!(resolver.finish().problems[0].message, "subnet a does not exist");
}

#[test]
fn a_resource_value_of_another_type_is_a_type_problem() {
    fails::<i64>(
        &resource("loadbalancer", "web", "dns"),
        ProblemKind::Type,
        "spec.field: loadbalancer web path dns: expected integer, found string",
    );
    fails::<String>(
        &resource("loadbalancer", "web", "count"),
        ProblemKind::Type,
        "spec.field: loadbalancer web path count: expected string, found integer; to convert it, write templateString: \
         '{{ .loadbalancer.web.count }}'",
    );
}

#[test]
fn text_that_cannot_be_read_is_a_parse_problem() {
    fails::<i64>(
        &config_map("sizes", "small"),
        ProblemKind::Parse,
        "spec.field: \"t2.nano\" (ConfigMap sizes key \"small\") is not an integer",
    );
    fails::<i32>(
        &config_map("sizes", "big"),
        ProblemKind::Parse,
        "spec.field: \"99999999999\" (ConfigMap sizes key \"big\") is out of range: -2147483648 to 2147483647",
    );
    fails::<bool>(
        &template("{{ .LoadBalancer.web.dns }}"),
        ProblemKind::Parse,
        "spec.field: \"web.example\" (the rendered template) is not a boolean (true or false)",
    );
}

#[test]
fn a_parse_problem_never_shows_a_secret() {
    fails::<i64>(
        &secret("db", "password"),
        ProblemKind::Parse,
        "spec.field: Secret db key \"password\" is not an integer",
    );
    fails::<Vec<i64>>(
        &secret("db", "list"),
        ProblemKind::Parse,
        "spec.field: Secret db key \"list\" is a JSON list, but its content is invalid",
    );
    fails::<i64>(
        &template("{{ .Secret.db.password }}"),
        ProblemKind::Parse,
        "spec.field: the rendered template is not an integer",
    );
}

#[test]
fn malformed_names_are_reported_with_their_field() {
    fails::<String>(
        &config_map("", "small"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.configMap.name: is empty",
    );
    fails::<String>(
        &secret("db", &"k".repeat(254)),
        ProblemKind::Invalid,
        "spec.field.valueFrom.secret.key: is longer than 253 characters",
    );
    fails::<String>(
        &resource("", "web", "dns"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.krakenResource.kind: is empty",
    );
    fails::<String>(
        &resource("loadbalancer", "plat.form:web", "dns"),
        ProblemKind::Invalid,
        "spec.field.valueFrom.krakenResource.namespace: \"plat.form\" is not a name of a namespace (lower case letters, digits and \"-\")",
    );
    for kind in ["ConfigMap", "Secret"] {
        fails::<String>(
            &template(&format!("{{{{ .{kind}.platform:sizes.small }}}}")),
            ProblemKind::Template,
            &format!(
                "spec.field.valueFrom.templateString: the name of \"{kind} platform:sizes key \"small\"\" has a namespace, and only \
                 resources of other namespaces can be referenced, no ConfigMaps and Secrets"
            ),
        );
    }
    fails::<String>(
        &resource("loadbalancer", "web", "a..b"),
        ProblemKind::Path,
        "spec.field.valueFrom.krakenResource.path: expected a name at byte 2",
    );
    fails::<String>(
        &template("{{ port }}"),
        ProblemKind::Template,
        "spec.field.valueFrom.templateString: expected a reference such as .ConfigMap.name.key (two literal braces are written {{ \"{{\" }}) at byte 3",
    );
}

#[test]
fn a_reference_with_a_malformed_name_is_not_requested() {
    let outside = "../../kube-system/secrets/x";
    assert!(take::<String>(&secret(outside, "a")).1.dependencies.is_empty());
    let (taken, resolution) = take::<String>(&template(&format!("{{{{ .Secret[\"{outside}\"].a }}}}")));
    assert_eq!(taken, None);
    assert!(resolution.dependencies.is_empty());
    assert_eq!(resolution.problems[0].kind, ProblemKind::Template);
}

#[test]
fn all_problems_and_all_dependencies_are_reported_at_once() {
    let empty = Values::default();
    let mut resolver = Resolver::new(&empty);
    assert_eq!(resolver.take::<String>("a", &config_map("x", "y")), None);
    assert_eq!(resolver.take::<i64>("b", &secret("x", "y")), None);
    assert_eq!(resolver.take::<String>("c", &template("{{ .Subnet.a.id }}{{ .ConfigMap.x.z }}")), None);
    assert_eq!(resolver.take::<i64>("d", &resource("Subnet", "a", "size")), None);
    let Resolution { dependencies, problems, .. } = resolver.finish();
    assert_eq!(dependencies.config_maps, BTreeSet::from([key("x", "y"), key("x", "z")]));
    assert_eq!(dependencies.secrets, BTreeSet::from([key("x", "y")]));
    let resources: Vec<_> = dependencies.resources.iter().map(|(r, t)| (r.path.as_str(), *t)).collect();
    assert_eq!(resources, [("id", JsonType::Any), ("size", JsonType::Integer)]);
    let fields: Vec<_> = problems.iter().map(|problem| problem.field.as_str()).collect();
    assert_eq!(fields, ["a", "b", "c", "c", "d"]);
}

#[test]
fn a_violated_rule_of_the_kind_is_reported_without_secrets() {
    let values = values();
    let mut resolver = Resolver::new(&values);
    resolver.problem("userData", "does not start with #!, but with hunter2");
    assert!(resolver.take::<String>("field", &secret("db", "password")).is_some());
    let problem = &resolver.finish().problems[0];
    assert_eq!(problem.to_string(), "spec.userData: does not start with #!, but with ***");
    assert_eq!(problem.kind, ProblemKind::Invalid);
}

#[test]
fn a_violated_rule_is_reported_with_the_value_and_its_source() {
    let mut values = values();
    values.config_maps.get_mut("sizes").unwrap().insert("image".into(), "ami-1\n".into());
    let mut resolver = Resolver::new(&values);
    resolver.take::<String>("image", &config_map("sizes", "image")).unwrap();
    resolver.take::<Vec<String>>("list", &config_map("sizes", "list")).unwrap();
    resolver.take::<String>("text", &template("x{{ .LoadBalancer.web.dns }}")).unwrap();
    resolver.take::<String>("secret", &secret("db", "password")).unwrap();
    for field in ["image", "list", "text", "secret", "literal"] {
        resolver.problem(field, "must be short");
    }
    let problems: Vec<_> = resolver.finish().problems.iter().map(ToString::to_string).collect();
    assert_eq!(
        problems,
        [
            r#"spec.image: "ami-1\n" (ConfigMap sizes key "image") must be short"#,
            r#"spec.list: ["a","b"] (ConfigMap sizes key "list") must be short"#,
            r#"spec.text: "xweb.example" (the rendered template) must be short"#,
            r#"spec.secret: the value of Secret db key "password" must be short"#,
            "spec.literal: must be short",
        ]
    );
}

#[test]
fn a_template_with_a_too_large_result_is_a_template_problem() {
    let mut values = values();
    values.config_maps.get_mut("sizes").unwrap().insert("long".into(), "x".repeat(600_000));
    let mut resolver = Resolver::new(&values);
    let text = "{{ .ConfigMap.sizes.long }}{{ .ConfigMap.sizes.long }}";
    assert_eq!(resolver.take::<String>("field", &template(text)), None);
    assert_eq!(resolver.finish().problems[0].kind, ProblemKind::Template);
}
