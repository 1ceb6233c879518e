use super::*;

const API: &str = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\n";

fn linted(files: &[&str]) -> Vec<String> {
    let text =
        |(index, text): (usize, &&str)| Text { place: format!("{index}.yaml"), text: (*text).to_owned() };
    let texts: Vec<_> = files.iter().enumerate().map(text).collect();
    let (findings, objects) = lint(&texts, "shop").unwrap();
    let sources: Vec<_> = texts.into_iter().map(|text| text.place).collect();
    let plain = Style { has_color: false, is_terminal: false, width: None };
    let printed = finding::text(&findings, &sources, objects, plain);
    printed.lines().map(str::to_owned).collect()
}

fn vpc(name: &str) -> String {
    format!("{API}kind: VPC\nmetadata: {{name: {name}}}\nspec: {{cidrBlock: {{value: 10.0.0.0/16}}}}\n")
}

#[test]
fn every_problem_is_reported_with_its_line() {
    let text = format!(
        "{API}kind: Subnet\nmetadata:\n  name: a\nspec:\n  # the network\n  vpcID: {{valueFrom: {{ref: VPC/main/vpc..x}}}}\n  \
         cidrBlock: {{value: 10.0.1.1/24}}\n  availabilityzone: {{value: x}}\n  lifecycle:\n    drift: Ignore\n---\n\
         {API}kind: Subnett\nmetadata: {{name: b}}\n"
    );
    let found = linted(&[&text]);
    let starts = |line: usize, start: &str| {
        assert!(found[line].starts_with(start), "{start}\n{}", found.join("\n"));
    };
    starts(0, "0.yaml:7: error: Subnet/a spec.vpcID.valueFrom.ref: its path: expected");
    starts(1, "0.yaml:9: error: Subnet/a spec.availabilityzone: unknown field");
    starts(2, "0.yaml:11: error: Subnet/a spec.lifecycle.drift: Unsupported value: \"Ignore\"");
    starts(3, "0.yaml:14: error: Subnett/b kind: no kind is named Subnett");
    assert!(found[3].ends_with("did you mean Subnet?"), "{}", found[3]);
    assert_eq!(found[4], "1 object: 4 errors.");
}

#[test]
fn rules_of_the_schema_say_what_to_write() {
    let text = format!(
        "{API}kind: Subnet\nmetadata: {{name: a}}\nspec:\n  vpcID: {{value: vpc-1, valueFrom: {{ref: VPC/a}}}}\n  cidrBlock: {{value: 10.0.1.1/24}}\n"
    );
    let found = linted(&[&text]).join("\n");
    assert!(
        found.contains("0.yaml:5: error: Subnet/a spec.vpcID: Invalid value: set either value or valueFrom"),
        "{found}"
    );
    assert!(found.contains("0.yaml:6: error: Subnet/a spec.cidrBlock.value: Invalid value: \"10.0.1.1/24\": has host bits set"), "{found}");
}

#[test]
fn a_number_or_a_boolean_in_place_of_a_string_is_to_be_quoted() {
    let with = |tags: &str| {
        linted(&[&format!(
            "{}  tags: {tags}\n",
            vpc("a").replace("{cidrBlock: {value: 10.0.0.0/16}}", "\n  cidrBlock: {value: 10.0.0.0/16}")
        )])
    };
    assert_eq!(
        with("{Cost: 42, Team: no, Code: 010, Live: true, Name: a}"),
        [
            "0.yaml:6: error: VPC/a spec.tags.Code: 010 is a number, and a string is expected: quote it (\"010\")",
            "0.yaml:6: error: VPC/a spec.tags.Cost: 42 is a number, and a string is expected: quote it (\"42\")",
            "0.yaml:6: error: VPC/a spec.tags.Live: true is a boolean, and a string is expected: quote it (\"true\")",
            "0.yaml:6: error: VPC/a spec.tags.Team: no is a boolean, and a string is expected: quote it (\"no\")",
            "1 object: 4 errors.",
        ]
    );
    assert_eq!(with("{N: x}"), ["1 object: no problems."]);
    // No branch holds, and quotes are no remedy.
    assert!(with("{Team: [a]}")[0].starts_with("0.yaml:6: error: VPC/a spec.tags.Team: "));
    // Fields with a type, too.
    let found = linted(&[&vpc("a").replace("10.0.0.0/16", "10")]);
    assert!(
        found[0]
            .ends_with("spec.cidrBlock.value: 10 is a number, and a string is expected: quote it (\"10\")"),
        "{found:?}"
    );
}

#[test]
fn a_name_is_a_string() {
    let named = |name: &str| linted(&[&vpc("a").replace("name: a", name)])[0].clone();
    assert_eq!(
        named("name: 010"),
        "0.yaml:3: error: VPC metadata.name: 010 is a number, and a string is expected: quote it (\"010\")"
    );
    assert_eq!(named("name: [a]"), "0.yaml:3: error: VPC metadata.name: is a list, and a string is expected");
    assert_eq!(named("labels: {}"), "0.yaml:3: error: VPC metadata.name: is missing");
}

#[test]
fn references_are_resolved_across_files() {
    let subnet = format!(
        "{API}kind: Subnet\nmetadata: {{name: a}}\nspec:\n  vpcID: {{valueFrom: {{ref: VPC/main}}}}\n  cidrBlock: {{valueFrom: {{configMap: {{name: c, key: cidr}}}}}}\n"
    );
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {cidr: 10.0.1.0/24}\n";
    assert_eq!(linted(&[&subnet, &vpc("main"), map]), ["2 objects: no problems."]);
    let found = linted(&[&subnet, &vpc("other"), &map.replace("cidr:", "zone:")]);
    assert_eq!(
        found,
        [
            "0.yaml:5: note: Subnet/a spec.vpcID: vpc main is not in the files: the cluster must have it",
            "0.yaml:6: warning: Subnet/a spec.cidrBlock: ConfigMap c has no key \"cidr\" (it has: zone)",
            "2 objects: 1 warning, 1 note.",
        ]
    );
}

#[test]
fn a_reference_must_have_the_type_of_its_field() {
    let instance = |count: &str| {
        format!(
            "{API}kind: EC2Instance\nmetadata: {{name: a}}\nspec:\n  imageID: {{value: ami-1}}\n  instanceType: {{value: t3.micro}}\n  minCount: {{value: 1}}\n  maxCount: {{valueFrom: {count}}}\n"
        )
    };
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {number: two}\n";
    let found = linted(&[&instance("{configMap: {name: c, key: number}}"), map]);
    assert!(found[0].contains("0.yaml:8: error: EC2Instance/a spec.maxCount: \"two\" (ConfigMap c key \"number\") is not an integer"), "{found:?}");
    let found = linted(&[&instance("{ref: VPC/main}"), &vpc("main")]);
    assert!(
        found[0].ends_with("spec.maxCount: vpc main: its id is of type string, and integer is expected"),
        "{found:?}"
    );
    let state = "apiVersion: core.kraken-iac.eoinfennessy.com/v1alpha1\nkind: StateDeclaration\nmetadata: {name: static-net}\nspec: {data: {size: big}}\n";
    let found = linted(&[&instance("{ref: static/net/size}"), state]);
    assert!(
        found[0].contains(
            "warning: EC2Instance/a spec.maxCount: StateDeclaration static-net: size is of type string"
        ),
        "{found:?}"
    );
}

#[test]
fn cycles_and_duplicates_are_errors() {
    let group = |name: &str, other: &str| {
        format!(
            "{API}kind: VPC\nmetadata: {{name: {name}}}\nspec: {{cidrBlock: {{valueFrom: {{ref: VPC/{other}/vpc.CidrBlock}}}}}}\n"
        )
    };
    let found = linted(&[&group("a", "b"), &group("b", "a")]).join("\n");
    assert!(found.contains("reference cycle: vpc a -> vpc b -> vpc a"), "{found}");
    let found = linted(&[&vpc("a"), &vpc("a")]);
    assert_eq!(found[0], "1.yaml:3: error: VPC/a metadata.name: is in 0.yaml:3 too");
    // Rules of groups follow the creation, so that groups may name each other.
    let front = |name: &str, other: &str| {
        format!(
            "{API}kind: SecurityGroup\nmetadata: {{name: {name}}}\nspec:\n  vpcID: {{value: vpc-1}}\n  ingress: [{{protocol: {{value: tcp}}, fromPort: {{value: 80}}, securityGroupIDs: {{value: [{{valueFrom: {{ref: SecurityGroup/{other}}}}}]}}}}]\n"
        )
    };
    assert_eq!(linted(&[&front("a", "b"), &front("b", "a")]), ["2 objects: no problems."]);
}

#[test]
fn exports_that_read_what_they_write_are_a_cycle() {
    let export = |name: &str, from: &str| {
        format!(
            "apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1\nkind: ConfigExport\nmetadata: {{name: {name}}}\nspec:\n  \
             configType: ConfigMap\n  configMetadata: {{name: {name}-t}}\n  entries:\n  - key: a\n    valueFrom: {from}\n"
        )
    };
    let of_map = |name: &str| format!("{{configMap: {{name: {name}-t, key: a}}}}");
    let found = linted(&[&export("chain", &of_map("chain"))]);
    assert_eq!(
        found[0],
        "0.yaml:8: error: ConfigExport/chain spec.entries[0]: reference cycle: ConfigMap chain-t -> ConfigMap chain-t: none of them ever gets a value"
    );
    let found = linted(&[&export("b", &of_map("c")), &export("c", &of_map("b"))]);
    assert!(
        found[0].contains("reference cycle: ConfigMap b-t -> ConfigMap c-t -> ConfigMap b-t"),
        "{found:?}"
    );
    assert_eq!(found.len(), 2, "{found:?}");
    // Through a resource.
    let of_vpc = vpc("v").replace("{value: 10.0.0.0/16}", &format!("{{valueFrom: {}}}", of_map("e")));
    let found = linted(&[&of_vpc, &export("e", "{ref: VPC/v}")]);
    assert!(found[0].contains("reference cycle: ConfigMap e-t -> vpc v -> ConfigMap e-t"), "{found:?}");
    assert_eq!(
        linted(&[&export("b", &of_map("c")), &export("c", "{ref: VPC/v}"), &vpc("v")]),
        ["3 objects: no problems."]
    );
}

#[test]
fn exports_are_reviewed_by_the_code_of_the_hub() {
    let export = "apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1\nkind: ConfigExport\nmetadata: {name: e}\nspec:\n  \
                  configType: ConfigMap\n  configMetadata: {name: c}\n  entries:\n  - {key: a, value: x}\n  - key: a\n    \
                  valueFrom: {templateString: '{{ .Secret.db.password }}'}\n";
    let found = linted(&[export]).join("\n");
    assert!(
        found.contains(
            "0.yaml:9: error: ConfigExport/e spec.entries[1].key: \"a\" is already the key of entries[0]"
        ),
        "{found}"
    );
    assert!(found.contains("comes from a Secret and cannot be exported to a ConfigMap"), "{found}");
}

#[test]
fn an_object_that_is_nearly_of_kraken_is_an_error() {
    let found = linted(&[&vpc("a").replace(API, "")]);
    assert_eq!(
        found[0],
        "0.yaml:1: error: VPC/a apiVersion: is missing: expected aws.kraken-iac.eoinfennessy.com/v1alpha1"
    );
    let found = linted(&[&vpc("a").replace("fennessy", "fenessy")]);
    assert!(
        found[0].starts_with("0.yaml:1: error: VPC/a apiVersion: no group of Kraken is named aws."),
        "{found:?}"
    );
}

#[test]
fn a_kind_of_an_opentofu_provider_is_not_checked() {
    let tofu = "apiVersion: tofu.kraken-iac.eoinfennessy.com/v1alpha1\nkind: AcmeNetwork\nmetadata: {name: net}\nspec: {name: {value: x}}\n";
    let subnet = |of: &str| {
        format!(
            "{API}kind: Subnet\nmetadata: {{name: a}}\nspec:\n  vpcID: {{valueFrom: {{ref: {of}/net}}}}\n  cidrBlock: {{value: 10.0.1.0/24}}\n"
        )
    };
    let not_checked = "0.yaml:2: note: AcmeNetwork/net kind: is not checked: the cluster makes this kind of an OpenTofu provider";
    assert_eq!(linted(&[tofu, &subnet("AcmeNetwork")]), [not_checked, "1 object: 1 note."]);
    assert_eq!(
        linted(&[&subnet("AcmeNetwork.tofu")])[0],
        "0.yaml:5: note: Subnet/a spec.vpcID: acmenetwork.tofu net is not in the files: the cluster must have it"
    );
    let found = linted(&[&subnet("AcmeNetwork")]);
    assert!(found[0].contains("error: Subnet/a spec.vpcID: no kind is named"), "{found:?}");
    // Its text is read all the same.
    assert_eq!(linted(&[&tofu.replace("name: net", "name: Net")]).len(), 3);
}

#[test]
fn no_sample_has_an_error() {
    let samples = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../config/samples");
    let mut folders: Vec<_> =
        std::fs::read_dir(&samples).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.retain(|path| path.is_dir() || path.extension().is_some_and(|end| end == "yaml"));
    assert!(folders.iter().any(|folder| folder.ends_with("openstack")));
    for folder in folders {
        let Ok(texts) = texts(std::slice::from_ref(&folder), None) else { continue };
        let (findings, _) = lint(&texts, "shop").unwrap();
        let wrong: Vec<_> = findings.iter().filter(|finding| finding.level == Level::Error).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", folder.display());
    }
}

#[test]
fn what_is_not_of_kraken_is_left_alone_and_broken_text_is_an_error() {
    let deployment =
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\n---\njust: text\n---\n# nothing\n";
    assert_eq!(linted(&[deployment]), ["0 objects: no problems."]);
    let found = linted(&["a: 1\nb: [\n"]);
    assert!(found[0].starts_with("0.yaml:2: error: no YAML: "), "{found:?}");
    let list = format!(
        "apiVersion: v1\nkind: List\nitems:\n- {}",
        vpc("a").replace('\n', "\n  ").replace("10.0.0.0", "10.0.0.300")
    );
    assert!(linted(&[&list])[0].starts_with("0.yaml:7: error: VPC/a spec.cidrBlock.value: "), "{list}");
}
