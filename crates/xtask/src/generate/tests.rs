use super::*;

#[test]
fn documents_keep_their_text() {
    assert_eq!(
        split("---\nb: 1\na: |\n  ---\n  x\n---\n\n---\nc: 2"),
        ["b: 1\na: |\n  ---\n  x\n", "c: 2\n"]
    );
    assert!(split("").is_empty());
}

#[test]
fn a_crd_is_named_as_kubernetes_names_it() {
    let crd =
        "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: as.b.c}\n";
    assert_eq!(crd_file(&parse_crd("x", crd).unwrap()), "as.b.c.yaml");
    assert!(parse_crd("x", "apiVersion: v1\nkind: Secret\nmetadata: {name: a}\n").is_err());
}

#[test]
fn only_generated_files_can_be_stale() {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join(CRDS).join("hub");
    fs::create_dir_all(&folder).unwrap();
    for (name, text) in [("old.yaml", format!("{MARK}\n")), ("own.yaml", "a: 1\n".to_owned())] {
        fs::write(folder.join(name), text).unwrap();
    }
    assert_eq!(stale(root.path(), &Files::new()).unwrap(), [Path::new("crds/hub/old.yaml")]);
}

#[test]
fn charts_get_copies_of_rights_and_webhooks() {
    let copy = |path: &str| in_chart(Path::new(path)).map(|path| path.display().to_string());
    assert_eq!(copy("config/hub/rbac.yaml").unwrap(), "charts/kraken/files/rbac.yaml");
    assert_eq!(copy("config/aws-vpc/rbac.yaml").unwrap(), "charts/kraken-spoke/files/aws-vpc.yaml");
    assert_eq!(copy("config/hub/webhook.yaml").unwrap(), "charts/kraken/files/webhook.yaml");
    assert_eq!(
        copy("config/aws-vpc/webhook.yaml").unwrap(),
        "charts/kraken-spoke/files/webhook/aws-vpc.yaml"
    );
    assert_eq!(
        copy("config/aws-vpc/policies.yaml").unwrap(),
        "charts/kraken-spoke/files/policies/aws-vpc.yaml"
    );
    assert_eq!(copy("config/aws-vpc/deployment.yaml"), None);
    assert_eq!(copy("crds/hub/kustomization.yaml"), None);
}

#[test]
fn the_kustomization_lists_files_and_folders() {
    let resources = ["a.yaml".to_owned(), "../b".to_owned()];
    assert!(kustomization(&resources).ends_with("resources:\n- a.yaml\n- ../b\n"));
}
