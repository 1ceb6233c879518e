//! The documents of a plan: from files, folders, standard input, or `kubectl kustomize`.

use std::{
    io::Read as _,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, anyhow, bail};
use serde_json::Value;

use super::super::lint::unquoted::no_text;
use crate::yaml;

/// One object as it is written, and where.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Document {
    /// The file and the number of the document in it: `network.yaml, document 2`.
    pub(crate) place: String,
    pub(crate) object: Value,
}

/// A text with manifests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Text {
    /// The path of the file, or what else it is.
    pub(crate) place: String,
    pub(crate) text: String,
}

/// The objects of all files in their order, in this namespace unless they name one; those of a folder sorted by name. `-` is standard input.
pub(crate) fn read(
    files: &[PathBuf],
    kustomization: Option<&Path>,
    namespace: &str,
) -> Result<Vec<Document>> {
    let mut all = vec![];
    for Text { place, text } in texts(files, kustomization)? {
        all.extend(parse(&place, &text)?);
    }
    unique(&all, namespace)?;
    Ok(all)
}

/// The texts of all files in their order, and of the kustomization.
pub(crate) fn texts(files: &[PathBuf], kustomization: Option<&Path>) -> Result<Vec<Text>> {
    let mut all = vec![];
    for file in files {
        if file.as_os_str() == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            all.push(Text { place: "standard input".to_owned(), text });
        } else {
            for file in expanded(file)? {
                let place = file.display().to_string();
                let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {place}"))?;
                all.push(Text { place, text });
            }
        }
    }
    if let Some(folder) = kustomization {
        all.push(Text { place: folder.display().to_string(), text: kustomized(folder)? });
    }
    Ok(all)
}

/// The file, or the YAML and JSON files of the folder.
fn expanded(path: &Path) -> Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    let mut files = vec![];
    for entry in entries {
        let file = entry?.path();
        let is_manifest = file.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if is_manifest && file.is_file() {
            files.push(file);
        }
    }
    files.sort();
    if files.is_empty() {
        bail!("{} contains no .yaml, .yml or .json file", path.display());
    }
    Ok(files)
}

fn kustomized(folder: &Path) -> Result<String> {
    let output = Command::new("kubectl").arg("kustomize").arg(folder).output();
    let output = output.context("-k runs `kubectl kustomize`, and kubectl cannot be started")?;
    if !output.status.success() {
        bail!("kubectl kustomize failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("the output of kubectl kustomize is not valid UTF-8")
}

/// The objects of a text with several YAML documents. Lists are their items; empty documents are left out.
pub(crate) fn parse(place: &str, text: &str) -> Result<Vec<Document>> {
    let documents = yaml::documents(text).map_err(|failed| anyhow!("{place}: {failed}"))?;
    let mut all = vec![];
    for document in documents {
        let place = format!("{place}, document {}", document.number);
        match document.value {
            Value::Object(ref fields) if fields.get("kind").is_some_and(|kind| kind == "List") => {
                let items = fields.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
                all.extend(items.into_iter().map(|object| Document { place: place.clone(), object }));
            }
            object => all.push(Document { place, object }),
        }
    }
    for Document { place, object } in &all {
        for field in ["/apiVersion", "/kind", "/metadata/name"] {
            let value = object.pointer(field);
            if value.and_then(Value::as_str).is_none_or(str::is_empty) {
                let field = field.trim_start_matches('/').replace('/', ".");
                match no_text(value, None) {
                    Some(why) => bail!("{place}: {field}: {why}"),
                    None => bail!("{place}: {field} is missing"),
                }
            }
        }
    }
    Ok(all)
}

/// Two documents of one object contradict each other: the later one would undo the earlier one.
fn unique(documents: &[Document], namespace: &str) -> Result<()> {
    let key = |document: &Document| {
        let text =
            |path: &str| document.object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let api = text("/apiVersion");
        let group = api.split_once('/').map_or("", |(group, _)| group).to_owned();
        let named = text("/metadata/namespace");
        let namespace = if named.is_empty() { namespace.to_owned() } else { named };
        (group, text("/kind"), namespace, text("/metadata/name"))
    };
    let mut seen = std::collections::BTreeMap::new();
    for document in documents {
        let key = key(document);
        let name = format!("{}/{}", key.1, key.3);
        if let Some(first) = seen.insert(key, &document.place) {
            bail!("{name} is in {first} and again in {}", document.place);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_and_lists_are_objects_with_their_place() {
        let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n---\napiVersion: v1\nkind: List\nitems:\n\
                    - {apiVersion: v1, kind: ConfigMap, metadata: {name: b}}\n";
        let all = parse("x.yaml", text).unwrap();
        let names: Vec<_> = all.iter().map(|one| one.object["metadata"]["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["a", "b"]);
        assert!(all[1].place.starts_with("x.yaml, document "), "{}", all[1].place);
    }

    #[test]
    fn objects_are_those_that_kubectl_applies() {
        let text = "apiVersion: v1\nkind: A\nmetadata: {name: a, annotations: {commit: 105e432083614936}}\nspec: {days: 010, tags: {N: x}}\n";
        let object = &parse("x.yaml", text).unwrap()[0].object;
        assert_eq!(object["metadata"]["annotations"]["commit"], "105e432083614936");
        assert_eq!(object["spec"], serde_json::json!({"days": 8, "tags": {"false": "x"}}));
    }

    #[test]
    fn what_is_no_object_is_named_with_its_place() {
        let error = |text: &str| parse("x.yaml", text).unwrap_err().to_string();
        assert_eq!(error("kind: A\nmetadata: {name: a}\n"), "x.yaml, document 1: apiVersion is missing");
        assert_eq!(
            error("apiVersion: v1\nkind: A\nmetadata: {}\n"),
            "x.yaml, document 1: metadata.name is missing"
        );
        assert_eq!(
            error("apiVersion: v1\nkind: A\nmetadata: {name: 123}\n"),
            "x.yaml, document 1: metadata.name: 123 is a number, and a string is expected: quote it (\"123\")"
        );
        assert!(error("a: [\n").starts_with("x.yaml: line "));
        assert_eq!(
            error("a: 1\n---\nb: 1\nb: 2\n"),
            "x.yaml: line 4: duplicate mapping key \"b\": it is in line 3 already"
        );
    }

    #[test]
    fn an_object_must_not_be_written_twice() {
        let object = "apiVersion: v1\nkind: A\nmetadata: {name: a}\n";
        let error = unique(&parse("x.yaml", &format!("{object}---\n{object}")).unwrap(), "b").unwrap_err();
        assert_eq!(error.to_string(), "A/a is in x.yaml, document 1 and again in x.yaml, document 2");
        let other = object.replace("name: a", "name: a, namespace: b");
        unique(&parse("x.yaml", &format!("{object}---\n{other}")).unwrap(), "a").unwrap();
        unique(&parse("x.yaml", &format!("{object}---\n{other}")).unwrap(), "b").unwrap_err();
    }
}
