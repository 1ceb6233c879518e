//! Generated inputs: every field of every CRD is omitted, emptied, set to a value out of bounds or of
//! another type, and combined with a field that excludes it.
//! Mistakes are rejected with the path of the field; those that only a controller can recognize become conditions.

mod admitted;
mod dry_run;
mod generator;
mod path;
mod samples;
mod values;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use kraken_testing::{Environment, EnvironmentOptions, Shared, SuiteOptions};
use kraken_tests::{TestEnv, test_env::condition};
use kube::api::PostParams;
use serde_json::Value;
use tokio::task::JoinSet;

use admitted::{Admitted, why_admitted};
use dry_run::{Answer, answers};
use generator::Input;
use samples::{Kind, kinds};

/// Whether a message names the place of the input, or the field that it conflicts with and the place in words.
fn names_the_place(message: &str, input: &Input) -> bool {
    let normal = |text: &str| text.replace("[\"", ".").replace("\"]", "").replace("spec.spec", "spec");
    let message = normal(message);
    let place = input.path.to_string();
    // A webhook names a field, and the item or the literal in words.
    let place = place.replace(".valueFrom", "").replace(".value", "");
    let parent = input.path.parent().to_string();
    let is_path = |c: char| c.is_alphanumeric() || "._[]-/:*".contains(c);
    message.match_indices("spec").any(|(at, _)| {
        let path: &str = message[at..].split(|c: char| !is_path(c)).next().unwrap_or_default();
        let path = path.trim_end_matches([':', '.']).replace(".valueFrom", "").replace(".value", "");
        let is_prefix = |one: &str, other: &str| {
            other.strip_prefix(one).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        };
        let is_sibling = is_prefix(&parent.replace(".valueFrom", "").replace(".value", ""), &path)
            && message.contains(input.path.name());
        let is_specific = path.len() > "spec".len() || place == "spec" || parent == "spec";
        is_specific && (is_prefix(&path, &place) || is_prefix(&place, &path) || is_sibling)
    })
}

/// The fields that all kinds have. They are defined once.
const SHARED: [&str; 3] = ["spec.account", "spec.lifecycle", "spec.pin"];

/// What a mistake inside of a reference is about, without its field: all references have the same schema. Not every field may refer to a Secret,
/// and the text of a template must have the type of the field.
fn in_reference(path: &str) -> Option<&str> {
    let (_, place) = path.rsplit_once(".valueFrom.")?;
    (!place.starts_with("secret") && place != "templateString").then_some(place)
}

/// The inputs of all kinds. What the schema of a place refuses is tried once for each such schema, and a mistake in a field that all kinds
/// have, or inside of a reference, once: at each place, they would be nine tenths of the requests.
fn once(kinds: &[Kind]) -> Vec<&Input> {
    let (mut known, mut refused) = (BTreeSet::new(), BTreeSet::new());
    let all = kinds.iter().flat_map(|kind| &kind.generated.inputs);
    all.filter(|input| {
        let path = input.path.to_string();
        let is_shared = SHARED.iter().any(|shared| {
            path.strip_prefix(shared).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
        });
        match (in_reference(&path).map(str::to_owned), input.refused_by) {
            (Some(place), _) => known.insert((place, input.change)),
            (None, Some(schema)) => refused.insert((schema, input.change)),
            (None, None) => !is_shared || known.insert((path, input.change)),
        }
    })
    .collect()
}

/// The fields that a kind has, as all kinds do, and rejects with any value.
const REJECTED: [&str; 3] = [
    "ScalingPolicy spec.lifecycle.adopt",
    "DBInstance spec.masterUserPassword.value",
    "SecretsManagerSecret spec.secretString.value",
];

/// All controllers with their webhooks.
async fn with_webhooks() -> Result<TestEnv> {
    static SHARED: Shared<Environment> = Shared::new();
    let start = || {
        let suite = SuiteOptions { webhooks: true, ..SuiteOptions::default() };
        Environment::start(EnvironmentOptions { suite, ..EnvironmentOptions::default() })
    };
    TestEnv::on(SHARED.get(start).await?).await
}

/// Without a cluster, so that a new kind or field without a sample is found early.
#[test]
fn samples_have_every_field_of_every_kind() -> Result<()> {
    let unvisited: Vec<_> = kinds("ns")?
        .iter()
        .flat_map(|kind| kind.generated.unvisited.iter().map(|path| format!("{} {path}", kind.name)))
        .filter(|field| !REJECTED.iter().any(|rejected| field.starts_with(rejected)))
        .collect();
    assert_eq!(unvisited, [] as [&str; 0], "no sample has these fields");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn generated_mistakes_are_rejected_with_a_field_path() -> Result<()> {
    let test_env = with_webhooks().await?;
    let (kinds, start) = (kinds(&test_env.ns.name)?, Instant::now());
    let uri = |kind: &Kind| {
        format!("/apis/{}/v1alpha1/namespaces/{}/{}", kind.group, test_env.ns.name, kind.plural)
    };
    let valid: Vec<_> = kinds
        .iter()
        .flat_map(|kind| kind.generated.valid.iter().map(|object| (uri(kind), object.clone())))
        .collect();
    for (answer, (uri, object)) in answers(&test_env.client(), valid.clone()).await?.iter().zip(&valid) {
        assert_eq!(*answer, Answer::Admitted, "{uri}: {object}");
    }

    let uris: BTreeMap<_, _> = kinds.iter().map(|kind| (kind.name.as_str(), uri(kind))).collect();
    let inputs = once(&kinds);
    let requests = inputs.iter().map(|input| (uris[input.kind.as_str()].clone(), input.object.clone()));
    let requests = requests.collect();
    let answers = answers(&test_env.client(), requests).await?;
    let (mut by_schema, mut by_webhook, mut without_path) = (0, 0, vec![]);
    let (mut valid, mut later, mut unexplained, mut used) = (0, 0, vec![], BTreeSet::new());
    for (input, answer) in inputs.iter().zip(&answers) {
        match answer {
            Answer::Refused(message) if !names_the_place(message, input) => {
                without_path.push(format!("{input}: {}", message.chars().take(400).collect::<String>()));
            }
            Answer::Refused(message) if message.contains("admission webhook") => by_webhook += 1,
            Answer::Refused(_) => by_schema += 1,
            Answer::Admitted => match why_admitted(input) {
                Some((rule, Admitted::Valid(_))) => {
                    used.insert(rule);
                    valid += 1;
                }
                Some((rule, Admitted::Later(_))) => {
                    used.insert(rule);
                    later += 1;
                }
                None => unexplained.push(input.to_string()),
            },
        }
    }
    let with_path = by_schema + by_webhook;
    let bad = with_path + without_path.len() + later + unexplained.len();
    println!(
        "{} generated inputs in {:.1?}: {by_schema} rejected by schemas and {by_webhook} by webhooks with a path, {} without a \
         path; {valid} are valid, {later} are recognized later, {} are unexplained",
        inputs.len(),
        start.elapsed(),
        without_path.len(),
        unexplained.len(),
    );
    assert!(inputs.len() >= 2_000, "{} inputs", inputs.len());
    assert!(unexplained.is_empty(), "admitted without a known reason:\n{}", unexplained.join("\n"));
    assert!(without_path.is_empty(), "rejected without the path:\n{}", without_path.join("\n"));
    assert!(with_path * 100 >= bad * 95, "{with_path} of {bad} mistakes are rejected with a path");
    assert_eq!(admitted::unused(&used), [] as [&str; 0], "no input is admitted for these reasons any more");
    Ok(())
}

/// Without the fields that would prevent a controller from processing the input: an account, adoption and dependencies that do not
/// exist.
fn runnable(mut object: Value, input: &str) -> Value {
    for place in ["/spec/account", "/spec/lifecycle/adopt", "/spec/lifecycle/dependsOn"] {
        let (parent, name) = place.rsplit_once('/').unwrap_or_default();
        if !input.contains(&place[1..].replace('/', "."))
            && let Some(fields) = object.pointer_mut(parent).and_then(Value::as_object_mut)
        {
            fields.remove(name);
        }
    }
    object
}

/// Writes a spec, and waits for the condition of its generation. Returns the duration of the wait.
async fn write(test_env: &TestEnv, kind: &str, object: &Value) -> Result<Duration> {
    let (api, params) = (test_env.api(kind), PostParams::default());
    loop {
        let written = match api.get_opt("generated").await? {
            None => api.create(&params, &serde_json::from_value(object.clone())?).await,
            Some(mut current) => {
                // Finalizers and the resource version are kept.
                current.data["spec"] = object["spec"].clone();
                api.replace("generated", &params, &current).await
            }
        };
        match written {
            Ok(_) => break,
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            Err(error) => bail!("{error}: {object}"),
        }
    }
    let start = Instant::now();
    let has_condition = |object: &Value| {
        let ready = condition(object, "Ready");
        let generation = object["metadata"]["generation"].as_i64();
        let observed = [&ready["observedGeneration"], &object["status"]["observedGeneration"]];
        ready.is_object() && observed.into_iter().any(|observed| observed.as_i64() == generation)
    };
    let reported = test_env.until(kind, "generated", has_condition).await?;
    let ready = condition(&reported, "Ready");
    ensure!(ready["reason"] != "InternalError", "{}: {object}", ready["message"]);
    Ok(start.elapsed())
}

/// Without webhooks, a mistake that the schema admits reaches the controller.
#[tokio::test(flavor = "multi_thread")]
async fn admitted_inputs_become_conditions_and_are_reverted() -> Result<()> {
    const OF_A_KIND: usize = 8;
    let test_env = Arc::new(TestEnv::new().await?);
    let kinds = kinds(&test_env.ns.name)?;
    let is_of_interest = |input: &&Input| input.refused_by.is_none() && input.change != "absent";
    let mut of_interest = BTreeMap::<_, Vec<Input>>::new();
    for input in once(&kinds).into_iter().filter(is_of_interest) {
        of_interest.entry(input.kind.clone()).or_default().push(input.clone());
    }
    let mut of_kinds = JoinSet::new();
    for Kind { name, group, plural, generated } in kinds {
        if ["Account", "StateDeclaration", "DependencyRequest", "ImportRequest", "ReferenceGrant"]
            .contains(&name.as_str())
        {
            continue;
        }
        let (test_env, inputs) = (test_env.clone(), of_interest.remove(&name).unwrap_or_default());
        of_kinds.spawn(async move {
            let uri = format!("/apis/{group}/v1alpha1/namespaces/{}/{plural}", test_env.ns.name);
            let requests = inputs.iter().map(|input| (uri.clone(), input.object.clone())).collect();
            let answers = answers(&test_env.client(), requests).await?;
            let admitted: Vec<&Input> = inputs
                .iter()
                .zip(&answers)
                .filter(|(input, answer)| **answer == Answer::Admitted && why_admitted(input).is_none())
                .map(|(input, _)| input)
                .collect();
            let every = admitted.len().div_ceil(OF_A_KIND).max(1);
            let good = runnable(generated.valid.last().cloned().unwrap_or_default(), "");
            let good = if name == "ConfigExport" { runnable(generated.valid[0].clone(), "") } else { good };
            let mut waits = vec![write(&test_env, &name, &good).await?];
            for input in admitted.iter().step_by(every) {
                let bad = runnable(input.object.clone(), &input.to_string());
                let failed = || format!("{input}");
                waits.push(write(&test_env, &name, &bad).await.with_context(failed)?);
                waits.push(write(&test_env, &name, &good).await.with_context(failed)?);
            }
            test_env.delete(&name, "generated").await?;
            test_env.gone(&name, "generated").await.with_context(|| format!("{name} is stuck"))?;
            anyhow::Ok(waits)
        });
    }
    let mut waits = vec![];
    while let Some(of_kind) = of_kinds.join_next().await {
        waits.extend(of_kind??);
    }
    // Only reported: how long a condition takes depends on the load of the machine.
    println!("{} writes, each with a condition within {:.1?}", waits.len(), waits.iter().max());
    assert!(waits.len() > 100, "{} writes", waits.len());
    for controller in test_env.env.suite.controllers() {
        assert!(!controller.log_text()?.contains("panicked"), "{} panicked", controller.name());
    }
    Ok(())
}
