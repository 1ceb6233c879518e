//! The new name in YAML files: only the bytes of the names change, so that comments, order and style stay. Pure, except `write`.

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result, bail};
use granit_parser::ScalarStyle;
use kraken_api::DOMAIN;
use serde_json::Value;

use super::reference::{Edit, Rename};
use crate::yaml::{self, Document, Spot};

/// Lines by number, with what is there afterwards.
type Lines = Vec<(usize, String)>;

/// A file with another text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rewritten {
    pub(super) file: PathBuf,
    pub(super) text: String,
    /// The lines that change, with what is there afterwards.
    pub(super) lines: Lines,
}

/// All files of the paths that change; folders are searched with their folders. `namespace`: that of the resource, which objects without
/// one have too.
pub(super) fn files(paths: &[PathBuf], rename: &Rename, namespace: &str) -> Result<Vec<Rewritten>> {
    let mut all = vec![];
    for path in paths {
        let mut found = vec![];
        search(path, &mut found)?;
        found.sort();
        all.extend(found);
    }
    let mut rewritten = vec![];
    for file in all {
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        // A template of Helm is no YAML, and a file without the name needs no edit.
        if !text.contains(&rename.from) || !text.contains(DOMAIN) {
            continue;
        }
        let place = || format!("{} cannot be rewritten; edit it, or leave it out", file.display());
        if let Some((text, lines)) = text_of(&text, rename, namespace).with_context(place)? {
            rewritten.push(Rewritten { file, text, lines });
        }
    }
    Ok(rewritten)
}

fn search(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    if !path.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let entries = fs::read_dir(path).with_context(|| format!("cannot read {}", path.display()))?;
    for entry in entries {
        let entry = entry?.path();
        let is_hidden = entry.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_manifest = entry.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if !is_hidden && (entry.is_dir() || is_manifest) {
            search(&entry, found)?;
        }
    }
    Ok(())
}

/// The text with the new name, and the lines that change; `None` if nothing does.
fn text_of(text: &str, rename: &Rename, namespace: &str) -> Result<Option<(String, Lines)>> {
    let documents = parsed(text)?;
    let (mut changes, mut lines, mut expected) = (vec![], vec![], vec![]);
    for Document { value, spot, .. } in &documents {
        let mut value = value.clone();
        for (pointer, object) in objects(value.clone()) {
            for edit in edits(&object, rename, namespace) {
                let at = format!("{pointer}{}", edit.pointer);
                let Some(scalar) = pointed(spot, &at).filter(|spot| spot.style.is_some()) else {
                    bail!("line {}: {at} is set by an alias or a merge", spot.line);
                };
                changes.push((scalar.bytes.clone(), written(text, scalar, &edit, rename)));
                lines.push((scalar.line, edit.to.clone()));
                if let Some(place) = value.pointer_mut(&at) {
                    *place = edit.to.into();
                }
            }
        }
        expected.push(value);
    }
    if changes.is_empty() {
        return Ok(None);
    }
    let new = replaced(text, changes);
    let values: Vec<Value> = parsed(&new)?.into_iter().map(|document| document.value).collect();
    if values != expected {
        bail!("the result would not have the intended values");
    }
    lines.sort();
    lines.dedup();
    Ok(Some((new, lines)))
}

fn parsed(text: &str) -> Result<Vec<Document>> {
    yaml::documents(text).map_err(|failed| anyhow::anyhow!("{failed}"))
}

/// The objects of a document, with their JSON pointers.
fn objects(value: Value) -> Vec<(String, Value)> {
    if value["kind"] != "List" {
        return vec![(String::new(), value)];
    }
    let items = value["items"].as_array().cloned().unwrap_or_default();
    items.into_iter().enumerate().map(|(index, item)| (format!("/items/{index}"), item)).collect()
}

/// The references of an object, and the name if it is the resource itself.
fn edits(object: &Value, rename: &Rename, namespace: &str) -> Vec<Edit> {
    let group =
        object["apiVersion"].as_str().and_then(|api| api.split_once('/')).map_or("", |(group, _)| group);
    let of = object["metadata"]["namespace"].as_str().unwrap_or(namespace);
    if !group.ends_with(DOMAIN) || of != namespace {
        return vec![];
    }
    let mut edits = rename.edits(object);
    let is_it = object["kind"] == rename.kind.as_str()
        && group == rename.group
        && object["metadata"]["name"] == rename.from.as_str();
    if is_it {
        let (from, to) = (rename.from.clone(), rename.to.clone());
        edits.push(Edit { pointer: "/metadata/name".to_owned(), from, to });
    }
    edits
}

/// The place of a JSON pointer.
fn pointed<'a>(spot: &'a Spot, pointer: &str) -> Option<&'a Spot> {
    let mut spot = spot;
    for part in pointer.split('/').skip(1) {
        let name = part.replace("~1", "/").replace("~0", "~");
        let field = spot.fields().iter().find(|(field, _)| *field == name).map(|(_, spot)| spot);
        spot = field.or_else(|| spot.items().get(name.parse::<usize>().ok()?))?;
    }
    Some(spot)
}

/// The new text of a scalar in the style of the old one.
fn written(text: &str, scalar: &Spot, edit: &Edit, rename: &Rename) -> String {
    let old = text.get(scalar.bytes.clone()).unwrap_or_default();
    // Of a block or a text of several lines, only the names change.
    if edit.pointer.ends_with("/templateString")
        && scalar.style != Some(ScalarStyle::DoubleQuoted)
        && let Some(new) = rename.template(Some(old))
    {
        return new;
    }
    match scalar.style {
        Some(ScalarStyle::SingleQuoted) => format!("'{}'", edit.to.replace('\'', "''")),
        Some(ScalarStyle::Plain) if yaml::is_plain(&edit.to) => edit.to.clone(),
        _ => Value::from(edit.to.as_str()).to_string(),
    }
}

fn replaced(text: &str, mut changes: Vec<(Range<usize>, String)>) -> String {
    changes.sort_by_key(|(range, _)| range.start);
    let (mut new, mut from) = (String::with_capacity(text.len()), 0);
    for (range, replacement) in changes {
        new.push_str(text.get(from..range.start).unwrap_or_default());
        new.push_str(&replacement);
        from = range.end;
    }
    new.push_str(text.get(from..).unwrap_or_default());
    new
}

/// Replaces the file as a whole, so that an interruption leaves the old or the new text.
pub(super) fn write(rewritten: &Rewritten) -> Result<()> {
    let Rewritten { file, text, .. } = rewritten;
    // A link stays one.
    let file = &fs::canonicalize(file).with_context(|| format!("cannot find {}", file.display()))?;
    let name = file.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let new = file.with_file_name(format!(".{name}.new"));
    let write = || {
        let permissions = fs::metadata(file)?.permissions();
        fs::write(&new, text)?;
        fs::set_permissions(&new, permissions)?;
        fs::rename(&new, file)
    };
    write().with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rename(to: &str) -> Rename {
        let (kind, group) = ("VPC".to_owned(), "aws.kraken-iac.eoinfennessy.com".to_owned());
        Rename { kind, group, from: "main".to_owned(), to: to.to_owned() }
    }

    const TEXT: &str = "\
# the network, main of all
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata: {name: main} # main
spec: {cidrBlock: {value: 10.0.0.0/16}}
---
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: Subnet
metadata:
  name: main   # another kind
spec:
  vpcID:
    valueFrom: {ref: 'VPC/main'}   # the reference
  cidrBlock: {valueFrom: {krakenResource: {kind: vpc, name: \"main\", path: vpc.CidrBlock}}}
  tags:
    note:
      valueFrom:
        templateString: |
          # of {{ .VPC.main }}
          main
---
apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1
kind: VPC
metadata: {name: main, namespace: elsewhere}
spec: {}
";

    #[test]
    fn only_the_names_change() {
        let (new, lines) = text_of(TEXT, &rename("net"), "shop").unwrap().unwrap();
        let expected = TEXT
            .replace("metadata: {name: main} #", "metadata: {name: net} #")
            .replace("'VPC/main'", "'VPC/net'")
            .replace("name: \"main\"", "name: \"net\"")
            .replace("{{ .VPC.main }}", "{{ .VPC.net }}");
        assert_eq!(new, expected);
        assert_eq!(lines.len(), 4);
        assert_eq!(text_of(&new, &rename("net"), "shop").unwrap(), None, "a second run changes nothing");
    }

    #[test]
    fn a_name_that_would_be_a_number_is_quoted() {
        let (new, _) = text_of(TEXT, &rename("123"), "shop").unwrap().unwrap();
        assert!(new.contains("metadata: {name: \"123\"} # main") && new.contains("'VPC/123'"), "{new}");
    }

    #[test]
    fn an_alias_is_left_to_a_person() {
        let text = "apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1\nkind: Subnet\nmetadata: {name: &n main}\n\
                    spec: {vpcID: {valueFrom: {krakenResource: {kind: VPC, name: *n}}}}\n";
        let error = text_of(text, &rename("net"), "shop").unwrap_err().to_string();
        assert!(error.contains("alias"), "{error}");
    }

    #[test]
    fn files_are_replaced_with_their_permissions() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a/network.yaml");
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(&file, TEXT).unwrap();
        fs::write(folder.path().join("a/values.yaml"), "main: {{ .Values.main }}").unwrap();
        let found = files(&[folder.path().to_owned()], &rename("net"), "shop").unwrap();
        assert_eq!(found.len(), 1);
        write(&found[0]).unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), found[0].text);
        assert_eq!(fs::read_dir(folder.path().join("a")).unwrap().count(), 2, "no temporary file is left");
    }
}
