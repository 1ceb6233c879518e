//! Checks of targets of exports that the hub deletes.

use super::*;

fn export(target: &str, waiting: &str) -> Value {
    json!({
        "apiVersion": "configexport.kraken-iac.eoinfennessy.com/v1alpha1", "kind": "ConfigExport",
        "metadata": {"namespace": NS, "name": "e", "uid": "u-e", "generation": 1},
        "spec": {
            "configType": "ConfigMap", "configMetadata": {"name": target}, "whileWaiting": waiting, "entries": [],
        },
    })
}

fn target(name: &str) -> Value {
    map(name, json!({"kraken-iac.eoinfennessy.com/exported-by": "u-e"}), json!({"k": "v"}))
}

/// The hub deletes the target `old` of an export that names `new` now.
fn deleted(scene: &mut Scene) {
    scene.advance(60);
    scene.remove("m-old");
    let mut call = patch("old", &json!({}));
    call.name = "DELETE configmaps".to_owned();
    scene.checks.after_api(scene.now, &hub_caller(), &call, &ok());
}

#[test]
fn a_former_target_is_kept_until_the_next_one_is_written() {
    for (waiting, is_written, is_fine) in
        [("Keep", false, false), ("Keep", true, true), ("Delete", false, true)]
    {
        let mut scene = Scene::of(export("old", waiting));
        scene.set(target("old"));
        scene.after_out_of_band();
        scene.set(export("new", waiting));
        scene.after_out_of_band();
        if is_written {
            scene.set(target("new"));
            scene.after_out_of_band();
        }
        deleted(&mut scene);
        scene.has_violation_unless(is_fine, Class::Wrong);
    }
}
