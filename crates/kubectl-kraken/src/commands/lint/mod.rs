//! `kubectl kraken lint`: what is wrong with files, without a cluster.

mod crds;
mod cycles;
mod finding;
mod kind;
mod object;
mod set;
#[cfg(test)]
mod tests;
pub(super) mod unquoted;

use std::{collections::BTreeMap, path::PathBuf, process::ExitCode};

use anyhow::{Result, bail};
use granit_parser::ScalarStyle;
use kraken_api::DOMAIN;
use kube_schema::Schema;
use serde_json::Value;

pub(super) use self::object::name as name_fault;
use self::{
    crds::Crd,
    finding::{Finding, Level},
    set::{Member, Set},
    unquoted::no_text,
};
use super::plan::documents::{Text, texts};
use crate::{
    discovery::{Kinds, Unknown},
    graph::Node,
    output::TextOrJson,
    print::{Style, out},
    yaml::{self, Spot},
};

/// Which files.
#[derive(clap::Args, Clone, Debug, Default)]
pub(crate) struct Files {
    /// Files or folders with manifests, or `-` for standard input.
    #[arg(value_name = "FILE")]
    pub(crate) positional: Vec<PathBuf>,
    /// The same, as kubectl names it. Can be repeated.
    #[arg(short, long = "filename", value_name = "FILE")]
    pub(crate) filename: Vec<PathBuf>,
    /// A folder with a kustomization.
    #[arg(short, long, value_name = "FOLDER")]
    pub(crate) kustomize: Option<PathBuf>,
}

pub(super) fn run(files: &Files, namespace: Option<&str>, output: TextOrJson) -> Result<ExitCode> {
    let all: Vec<PathBuf> = files.positional.iter().chain(&files.filename).cloned().collect();
    if all.is_empty() && files.kustomize.is_none() {
        bail!("which files? Name files or folders, or a kustomization with -k");
    }
    let texts = texts(&all, files.kustomize.as_deref())?;
    let (findings, objects) = lint(&texts, namespace.unwrap_or_default())?;
    let sources: Vec<String> = texts.into_iter().map(|text| text.place).collect();
    match output {
        TextOrJson::Text => out(&finding::text(&findings, &sources, objects, Style::of_stdout()))?,
        TextOrJson::Json => out(&format!("{:#}\n", finding::json(&findings, &sources)))?,
    }
    let is_wrong = findings.iter().any(|finding| finding.level == Level::Error);
    Ok(if is_wrong { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Everything that is found, in the order of the files, and the number of objects of Kraken. Objects that name no namespace are in
/// `namespace`. Pure.
fn lint(texts: &[Text], namespace: &str) -> Result<(Vec<Finding>, usize)> {
    let crds = crds::all()?;
    let kinds = crds::kinds(&crds)?;
    let mut linter = Linter { crds: &crds, kinds: &kinds, schemas: BTreeMap::new(), findings: vec![] };
    let mut members = vec![];
    let mut places = vec![];
    for (source, Text { text, .. }) in texts.iter().enumerate() {
        let documents = match yaml::documents(text) {
            Ok(documents) => documents,
            Err(failed) => {
                linter.add(source, failed.line, Level::Error, "", "", format!("no YAML: {}", failed.message));
                continue;
            }
        };
        for document in documents {
            for (object, spot) in items(document.value, document.spot) {
                if let Some(member) = linter.member(source, text, &spot, object, namespace)? {
                    members.push(member);
                    places.push((source, spot));
                }
            }
        }
    }
    linter.unique(&members, &places, texts);
    let set = Set::new(&kinds, &members);
    let mut objects = 0;
    for (member, (source, spot)) in members.iter().zip(&places) {
        let Some(Some(schema)) = linter.schemas.get(&key(&member.node, &member.object)) else { continue };
        objects += 1;
        for (level, field, message) in set.check(member, schema) {
            linter.at(*source, spot, level, &member.node, &spec(&field), message);
        }
    }
    for (node, (level, field, message)) in cycles::cycles(&set) {
        if let Some(index) = members.iter().position(|member| member.node == *node) {
            let (source, spot) = &places[index];
            linter.at(*source, spot, level, node, &spec(&field), message);
        }
    }
    let mut findings = linter.findings;
    findings.sort();
    findings.dedup();
    Ok((findings, objects))
}

/// The path in the object of a path in the spec.
fn spec(field: &str) -> String {
    if field.is_empty() { "spec".to_owned() } else { format!("spec.{field}") }
}

/// A schema is that of a kind and a version.
type Key = (String, String, String);

fn key(node: &Node, object: &Value) -> Key {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let version = version.split_once('/').map_or("", |(_, version)| version);
    (node.group.clone(), node.kind.clone(), version.to_owned())
}

/// The objects of a document: those of a list are its items.
fn items(value: Value, spot: Spot) -> Vec<(Value, Spot)> {
    match &value {
        Value::Object(fields) if fields.get("kind").is_some_and(|kind| kind == "List") => {
            let items = fields.get("items").and_then(Value::as_array).cloned().unwrap_or_default();
            let spots = spot.at("items").map(|items| items.items().to_vec()).unwrap_or_default();
            items.into_iter().zip(spots).collect()
        }
        _ => vec![(value, spot)],
    }
}

struct Linter<'a> {
    crds: &'a [Crd],
    kinds: &'a Kinds,
    /// `None` for a version that does not exist.
    schemas: BTreeMap<Key, Option<Schema>>,
    findings: Vec<Finding>,
}

impl Linter<'_> {
    fn add(&mut self, source: usize, line: usize, level: Level, object: &str, field: &str, message: String) {
        let (object, field) = (object.to_owned(), field.to_owned());
        self.findings.push(Finding { source, line, level, object, field, message });
    }

    fn at(&mut self, source: usize, spot: &Spot, level: Level, node: &Node, field: &str, message: String) {
        self.add(source, spot.nearest(field).line, level, &node.to_string(), field, message);
    }

    /// The object as a member of the set, after it was checked by itself. `None` for what Kraken does not read.
    fn member(
        &mut self,
        source: usize,
        file: &str,
        spot: &Spot,
        mut object: Value,
        namespace: &str,
    ) -> Result<Option<Member>> {
        let written = |field: &str| {
            let plain = spot.at(field).filter(|value| value.style == Some(ScalarStyle::Plain))?;
            file.get(plain.bytes.clone()).map(str::to_owned)
        };
        let text = |path: &str| object.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version.as_str()));
        let is_own = group.ends_with(DOMAIN);
        let is_read = is_own || (api_version == "v1" && (kind == "ConfigMap" || kind == "Secret"));
        let named = text("/metadata/namespace");
        let namespace = if named.is_empty() { namespace } else { &named };
        let node = Node::new(namespace, group, &kind, &name);
        if !is_read {
            if let Some(why) = kind::wrong_api_version(&api_version, &kind, self.crds) {
                self.at(source, spot, Level::Error, &node, "apiVersion", why);
            }
            return Ok(None);
        }
        if name.is_empty() {
            let message = no_text(object.pointer("/metadata/name"), written("metadata.name").as_deref());
            let message = message.unwrap_or_else(|| "is missing".to_owned());
            self.add(
                source,
                spot.nearest("metadata.name").line,
                Level::Error,
                &kind,
                "metadata.name",
                message,
            );
        } else if let Some(why) = object::name(&name) {
            self.at(source, spot, Level::Error, &node, "metadata.name", format!("{name:?} {why}"));
        }
        if !is_own {
            return Ok(Some(Member { node, object, follows: vec![] }));
        }
        if kind::is_made_at_run_time(group) && !kind.is_empty() {
            let message = "is not checked: the cluster makes this kind of an OpenTofu provider".to_owned();
            self.at(source, spot, Level::Note, &node, "kind", message);
            return Ok(Some(Member { node, object, follows: vec![] }));
        }
        let Some(crd) = self.crds.iter().find(|crd| crd.group == group && crd.kind == kind) else {
            let similar = match self.kinds.find(&kind) {
                Ok(known) => {
                    format!("; did you mean {} of {}?", known.resource.kind, known.resource.api_version)
                }
                Err(Unknown::NotFound(Some(similar))) => format!("; did you mean {similar}?"),
                Err(_) => String::new(),
            };
            let message = format!("no kind is named {kind} in {group}{similar}");
            self.at(source, spot, Level::Error, &node, "kind", message);
            return Ok(None);
        };
        let key = key(&node, &object);
        if !self.schemas.contains_key(&key) {
            self.schemas.insert(key.clone(), crd.schema(version)?);
        }
        let Some(Some(schema)) = self.schemas.get(&key) else {
            let message = format!("{kind} has no version {version:?}; it has {}", kraken_api::VERSION);
            self.at(source, spot, Level::Error, &node, "apiVersion", message);
            return Ok(None);
        };
        let mut found = object::by_schema(&mut object, schema, written);
        let mut problems = object::lifecycle(&object["spec"]);
        if kind == "ConfigExport" {
            problems.extend(object::export(&object, namespace));
        }
        found.extend(problems.into_iter().map(|problem| (spec(&problem.field), problem.message)));
        for (field, message) in found {
            self.at(source, spot, Level::Error, &node, &field, message);
        }
        Ok(Some(Member { node, object, follows: crd.follows.clone() }))
    }

    /// Two documents of one object contradict each other: the later one would undo the earlier one.
    fn unique(&mut self, members: &[Member], places: &[(usize, Spot)], texts: &[Text]) {
        let mut seen: BTreeMap<&Node, usize> = BTreeMap::new();
        for (index, member) in members.iter().enumerate() {
            let Some(first) = seen.insert(&member.node, index) else { continue };
            let (of_first, at_first) = &places[first];
            let file = texts.get(*of_first).map_or("", |text| text.place.as_str());
            let line = at_first.nearest("metadata.name").line;
            let (source, spot) = &places[index];
            let message = format!("is in {file}:{line} too");
            self.at(*source, spot, Level::Error, &member.node, "metadata.name", message);
        }
    }
}
