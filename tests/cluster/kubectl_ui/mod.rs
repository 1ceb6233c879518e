//! `kubectl kraken ui` in a real browser: the real binary, the real control plane, clicks and keys.

mod browser;

use std::{process::Stdio, time::Duration};

use anyhow::{Context as _, Result, ensure};
use kraken_testing::paths;
use kraken_tests::TestEnv;
use serde_json::json;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
    time::timeout,
};

use self::browser::Browser;
use crate::kubectl::with_webhooks;

const START: Duration = Duration::from_secs(30);

/// A tier in which a Secret is missing, a VPC whose plan awaits approval, and an export.
const TIER: &str = r"
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: shop}, spec: {cidrBlock: {value: 10.71.0.0/16}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: InternetGateway, metadata: {name: shop}, spec: {vpcID: {valueFrom: {ref: VPC/shop}}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {name: a}, spec: {vpcID: {valueFrom: {ref: VPC/shop}},
  cidrBlock: {value: 10.71.1.0/24}, availabilityZone: {value: us-east-1a}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Subnet, metadata: {name: b}, spec: {vpcID: {valueFrom: {ref: VPC/shop}},
  cidrBlock: {value: 10.71.2.0/24}, availabilityZone: {value: us-east-1b}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: SecurityGroup, metadata: {name: web}, spec: {vpcID: {valueFrom: {ref: VPC/shop}},
  description: {value: web}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: web-a}, spec: {imageID: {value: ami-12c6146b},
  instanceType: {value: t2.nano}, minCount: {value: 1}, maxCount: {value: 1}, subnetID: {valueFrom: {ref: Subnet/a}},
  userData: {valueFrom: {secret: {name: db, key: password}}}, securityGroupIDs: {value: [{valueFrom: {ref: SecurityGroup/web}}]}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: EC2Instance, metadata: {name: web-b}, spec: {imageID: {value: ami-12c6146b},
  instanceType: {value: t2.nano}, minCount: {value: 1}, maxCount: {value: 1}, subnetID: {valueFrom: {ref: Subnet/b}},
  userData: {valueFrom: {secret: {name: db, key: password}}}, securityGroupIDs: {value: [{valueFrom: {ref: SecurityGroup/web}}]}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: TargetGroup, metadata: {name: web}, spec: {protocol: {value: HTTP}, port: {value: 80},
  vpcID: {valueFrom: {ref: VPC/shop}}, targets: {value: [{valueFrom: {ref: EC2Instance/web-a}}, {valueFrom: {ref: EC2Instance/web-b}}]}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: LoadBalancer, metadata: {name: web}, spec: {type: {value: application},
  scheme: {value: internet-facing}, subnetIDs: {value: [{valueFrom: {ref: Subnet/a}}, {valueFrom: {ref: Subnet/b}}]},
  lifecycle: {dependsOn: [{kind: InternetGateway, name: shop}]}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: Listener, metadata: {name: http}, spec: {loadBalancerARN: {valueFrom: {ref: LoadBalancer/web}},
  protocol: {value: HTTP}, port: {value: 80}, defaultAction: {forward: {targetGroupARN: {valueFrom: {ref: TargetGroup/web}}}}}}
---
{apiVersion: aws.kraken-iac.eoinfennessy.com/v1alpha1, kind: VPC, metadata: {name: next}, spec: {cidrBlock: {value: 10.72.0.0/16}, lifecycle: {approval: Manual}}}
---
{apiVersion: configexport.kraken-iac.eoinfennessy.com/v1alpha1, kind: ConfigExport, metadata: {name: address}, spec: {configType: ConfigMap,
  configMetadata: {name: address}, entries: [{key: vpc, valueFrom: {ref: VPC/shop}}, {key: host, valueFrom: {ref: LoadBalancer/web/loadBalancer.DNSName}}]}}
";

/// The running command, and the address that it printed.
struct Served {
    address: String,
    _process: Child,
}

impl Served {
    async fn start(test_env: &TestEnv, flags: &[&str]) -> Result<Self> {
        let program = paths::bin_dir()?.join("kubectl-kraken");
        ensure!(program.is_file(), "{} does not exist; build the binaries first", program.display());
        let mut command = Command::new(program);
        command.args(["ui", "-n", &test_env.ns.name]).args(flags);
        command.env("KUBECONFIG", test_env.env.control_plane.admin_kubeconfig());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::inherit()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let mut lines = BufReader::new(process.stdout.take().context("no standard output")?).lines();
        let address = timeout(START, lines.next_line()).await.context("no address")??.context("it ended")?;
        ensure!(address.starts_with("http://127.0.0.1:"), "{address}");
        Ok(Self { address, _process: process })
    }
}

fn row(object: &str) -> String {
    let (kind, name) = object.split_once('/').unwrap_or_default();
    format!("#rows [data-key$='/{kind}/{name}']")
}

#[tokio::test]
async fn a_browser_shows_the_list_the_map_and_plans_live() -> Result<()> {
    let Some(mut browser) = Browser::start().await? else {
        println!("skipped: no chromium on PATH");
        return Ok(());
    };
    let test_env = with_webhooks().await?;
    test_env.apply(TIER).await?;
    for (kind, name) in
        [("Listener", "http"), ("EC2Instance", "web-a"), ("EC2Instance", "web-b"), ("TargetGroup", "web")]
    {
        test_env.not_ready(kind, name, "DependenciesNotReady").await?;
    }
    test_env.not_ready("VPC", "next", "AwaitingApproval").await?;
    test_env.ready("LoadBalancer", "web").await?;
    test_env.ready("ConfigExport", "address").await?;
    let page = Served::start(&test_env, &[]).await?;
    browser.prefers("light").await?;
    browser.open(&page.address).await?;

    list(&mut browser, &test_env).await?;
    detail(&mut browser).await?;
    map(&mut browser).await?;

    // Read-only: the plan has a command instead of a button.
    browser.press("3").await?;
    browser.shows("#plans", "Create").await?;
    browser.shows("#plans code", "kubectl kraken approve vpc/next -n").await?;
    assert_eq!(browser.value("document.querySelector('.approve') === null").await?, true);
    browser.press("5").await?;
    browser.shows("#table", "LoadBalancer/web").await?;
    browser.picture("exports").await?;

    // What the advice says is done elsewhere, and the page follows.
    browser.press("1").await?;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "db"},
        "stringData": {"password": test_env.secret_value("password")}});
    test_env.apply(&secret.to_string()).await?;
    browser.shows(&format!("{}.state-ready", row("EC2Instance/web-a")), "Available").await?;
    browser.until("!document.body.innerText.includes('Secret db does not exist')").await?;
    test_env.ready("Listener", "http").await?;
    many(&mut browser).await?;

    // Another run has another token, and may write.
    let writing = Served::start(&test_env, &["--write"]).await?;
    browser.open(&writing.address).await?;
    // The tabs move when the first data arrives.
    browser.shows("#headline", "12 resources, 11 ready").await?;
    approve(&mut browser, &test_env).await?;
    preview(&mut browser, &test_env).await?;

    // Nothing in what the page has got is a value of a Secret: every answer again, and the page itself.
    let all = "(async () => { const texts = [document.documentElement.outerHTML]; const { get } = await import('/api.js'); \
               for (const path of ['status', 'plans', 'exports', 'drift']) texts.push(JSON.stringify(await get(`/api/${path}`))); \
               for (const key of (await import('/store.js')).store.rows.keys()) texts.push(JSON.stringify(await get(`/api/object/${key}`))); \
               return texts.join(); })()";
    let all = browser.value(all).await?;
    let all = all.as_str().context("no text")?;
    assert!(all.contains("10.71.0.0/16") && !all.contains(&test_env.secret_value("password")));
    // A page without the token gets files and no data.
    browser.open("about:blank").await?;
    let port = writing.address.split('#').next().context("no address")?;
    browser.value("sessionStorage.clear()").await.ok();
    browser.open(&format!("{port}#token=0000")).await?;
    browser.shows("#banner", "Open the address that kubectl kraken ui printed last").await?;
    browser.errors.retain(|error| !error.contains("401"));
    assert_eq!(browser.errors, [""; 0]);
    Ok(())
}

/// The rows, what to fix first, and the search.
async fn list(browser: &mut Browser, test_env: &TestEnv) -> Result<()> {
    browser.shows(&row("EC2Instance/web-a"), "Secret db does not exist").await?;
    browser.shows("#headline", "12 resources, 7 ready, 5 not ready").await?;
    browser.shows(".fix li", "Secret db does not exist").await?;
    browser.shows(".fix code", "kubectl create secret generic db").await?;
    assert_eq!(browser.value("location.href.includes('token')").await?, false);
    browser.picture("list").await?;

    let id =
        test_env.get("Subnet", "b").await?["status"]["externalIds"][0].as_str().context("no id")?.to_owned();
    browser.press("/").await?;
    browser.write(&id).await?;
    browser.until("document.querySelectorAll('#rows .row').length === 1").await?;
    browser.shows("#rows .row", "Subnet/b").await?;
    browser.press("Escape").await?;
    browser.until("document.querySelectorAll('#rows .row').length === 12").await?;
    browser.click("[data-filter=approval]").await?;
    browser.until("document.querySelectorAll('#rows .row').length === 1").await?;
    browser.click("[data-filter=approval]").await?;
    browser.until("document.querySelectorAll('#rows .row').length === 12").await
}

/// The pane of a resource, by the mouse and by the keyboard.
async fn detail(browser: &mut Browser) -> Result<()> {
    browser.click(&row("TargetGroup/web")).await?;
    browser.shows("#detail h1", "TargetGroup/web").await?;
    browser.shows("#detail li", "Secret/db: Secret db does not exist").await?;
    browser.shows("#detail", "waits for Listener/http.").await?;
    browser.shows("#detail pre", "kind: TargetGroup").await?;
    browser.shows("#detail .links", "spec.targets.value[0]").await?;
    browser.prefers("dark").await?;
    browser.picture("detail-dark").await?;
    browser.prefers("light").await?;
    // To what it uses, and back to the list.
    browser.click("#detail .links [data-key$='/EC2Instance/web-a']").await?;
    browser.shows("#detail h1", "EC2Instance/web-a").await?;
    browser.press("Escape").await?;
    browser.until("document.getElementById('detail').hidden").await?;
    browser.press("Home").await?;
    let first = "document.querySelector('#rows [aria-selected=true]').dataset.key";
    let before = browser.value(first).await?;
    browser.press("ArrowDown").await?;
    let after = browser.value(first).await?;
    assert_ne!(before, after);
    browser.press("Enter").await?;
    let name = after.as_str().context("no key")?.splitn(3, '/').nth(2).context("no name")?.to_owned();
    browser.shows("#detail h1", &name).await?;
    browser.press("Escape").await?;
    browser.press("?").await?;
    browser.shows("dialog[open]", "Page Up").await?;
    browser.press("Escape").await?;
    browser.until("!document.querySelector('dialog').open").await
}

async fn map(browser: &mut Browser) -> Result<()> {
    browser.click("[data-view=map]").await?;
    browser.shows(".vpc > .line", "10.71.0.0/16").await?;
    browser.shows(".vpc > .line", "IGW shop").await?;
    browser.until("document.querySelectorAll('.zone').length === 2").await?;
    browser.shows(".zone h3", "us-east-1b").await?;
    browser.shows(".subnet .line", "EC2 web-a").await?;
    browser.shows(".listener", "HTTP 80").await?;
    browser.shows(".listener", "TG web").await?;
    browser.shows(".graph", "ConfigExport/address").await?;
    browser.picture("map").await?;
    browser.click(".subnet [data-key$='/EC2Instance/web-b']").await?;
    browser.shows("#detail h1", "EC2Instance/web-b").await?;
    browser.press("Escape").await
}

/// Five thousand rows: few elements, and a search that a person does not wait for.
async fn many(browser: &mut Browser) -> Result<()> {
    let rows = "import('/store.js').then(({ apply, store }) => { const rows = Array.from({ length: 5000 }, (_, index) => ({ key: `n/g/Subnet/s${index}`, \
                namespace: 'n', group: 'g', kind: 'Subnet', name: `s${index}`, ready: 'True', reason: 'Available', message: '', note: '', \
                ids: [`subnet-${index}`], drifted: false, deleting: false, pendingPlan: null, position: 100 + index, branch: '', next: 'Person' })); \
                const start = performance.now(); apply({ isFirst: false, rows, removed: [], frame: null }); return performance.now() - start; })";
    let applied = browser.value(rows).await?.as_f64().context("no time")?;
    browser.press("End").await?;
    browser.shows("#rows .row", "s4999").await?;
    let elements = browser
        .value("document.querySelectorAll('#rows .row').length")
        .await?
        .as_u64()
        .context("no number")?;
    let searched = "import('/store.js').then(({ set }) => { const start = performance.now(); set({ query: 'subnet-4321' }); return performance.now() - start; })";
    let searched = browser.value(searched).await?.as_f64().context("no time")?;
    browser.until("document.querySelectorAll('#rows .row').length === 1").await?;
    println!("5,000 rows: {applied:.0} ms, {elements} elements, search {searched:.0} ms");
    assert!(elements < 100 && applied < 2000.0 && searched < 1000.0, "{elements} {applied} {searched}");
    Ok(())
}

async fn approve(browser: &mut Browser, test_env: &TestEnv) -> Result<()> {
    browser.click("[data-view=plans]").await?;
    browser.shows("#plans article", "VPC/next").await?;
    browser.picture("plan").await?;
    browser.click("#plans .approve").await?;
    browser.shows("dialog[open]", "Approve the plan of VPC/next?").await?;
    browser.click("#confirm").await?;
    test_env.ready("VPC", "next").await?;
    browser.shows("#plans", "No plan awaits approval.").await
}

async fn preview(browser: &mut Browser, test_env: &TestEnv) -> Result<()> {
    browser.click("[data-view=list]").await?;
    browser.click(&row("Listener/http")).await?;
    browser.shows("#detail h1", "Listener/http").await?;
    let buttons = "[...document.querySelectorAll('#detail section')].find((one) => one.textContent.startsWith('Deletion')).querySelectorAll('button').length";
    assert_eq!(browser.value(buttons).await?, 2);
    browser.click("#detail section p > button.small:not(:last-child)").await?;
    browser.shows("#preview", "Delete Listener/http").await?;
    browser.shows("#preview", "nothing was deleted").await?;
    let listener = test_env.get("Listener", "http").await?;
    assert!(listener["metadata"]["deletionTimestamp"].is_null(), "{listener}");
    Ok(())
}
