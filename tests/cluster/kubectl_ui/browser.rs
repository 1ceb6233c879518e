//! A headless Chromium, driven over the pipe of its DevTools protocol: no port, and no crate for WebSockets or WebDriver.

use std::{
    env,
    path::{Path, PathBuf},
    process::Stdio,
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader},
    process::{Child, ChildStdin, ChildStdout, Command},
    time::{sleep, timeout},
};

/// The longest time for one command of the protocol, and for a condition of the page.
const PATIENCE: Duration = Duration::from_mins(1);
const PAUSE: Duration = Duration::from_millis(50);
/// The browser reads commands from file 3 and writes answers to file 4.
const FILES: &str = r#"exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>/dev/null"#;
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "chrome"];

/// One page.
pub(super) struct Browser {
    commands: ChildStdin,
    answers: BufReader<ChildStdout>,
    last: u64,
    session: Option<String>,
    /// What the page reported as wrong: exceptions, violations of its policy, failed requests.
    pub(super) errors: Vec<String>,
    // Dropped last: the process ends before its folder.
    _process: Child,
    _profile: tempfile::TempDir,
}

/// The program, if there is one.
fn program() -> Option<PathBuf> {
    let folders: Vec<_> = env::split_paths(&env::var_os("PATH")?).collect();
    let each = |name: &&str| folders.iter().map(|folder| folder.join(name)).find(|path| path.is_file());
    NAMES.iter().find_map(each)
}

impl Browser {
    /// `None` if no Chromium is installed.
    pub(super) async fn start() -> Result<Option<Self>> {
        let Some(program) = program() else { return Ok(None) };
        let profile = tempfile::tempdir()?;
        let mut command = Command::new("sh");
        command.args(["-c", FILES]).arg(program).arg(format!("--user-data-dir={}", profile.path().display()));
        command.args([
            "--headless=new",
            "--remote-debugging-pipe",
            "--no-first-run",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            // Pictures are smaller without colored edges of letters.
            "--disable-lcd-text",
            "--window-size=1160,760",
            // Nothing but the page under test is reached.
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
            // It cannot be used by root, as whom containers run; only the page under test is opened.
            "--no-sandbox",
        ]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut process = command.spawn()?;
        let commands = process.stdin.take().context("no standard input")?;
        let answers = BufReader::new(process.stdout.take().context("no standard output")?);
        let mut browser = Self {
            commands,
            answers,
            last: 0,
            session: None,
            errors: vec![],
            _process: process,
            _profile: profile,
        };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"})).await?;
        let attach = json!({"targetId": target["targetId"], "flatten": true});
        let session = browser.call("Target.attachToTarget", attach).await?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), json!({})).await?;
        }
        Ok(Some(browser))
    }

    async fn call(&mut self, method: &str, params: Value) -> Result<Value> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": params});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{command}\0").as_bytes()).await?;
        let answer = timeout(PATIENCE, self.answer()).await;
        let answer = answer.with_context(|| format!("the browser does not answer {method}"))??;
        ensure!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        Ok(answer["result"].clone())
    }

    /// The answer to the last command. Events before it are only read for errors.
    async fn answer(&mut self) -> Result<Value> {
        loop {
            let mut message = vec![];
            self.answers.read_until(0, &mut message).await?;
            ensure!(message.pop() == Some(0), "the browser has ended");
            let message: Value = serde_json::from_slice(&message)?;
            if message["id"] == self.last {
                return Ok(message);
            }
            let params = &message["params"];
            match message["method"].as_str() {
                Some("Runtime.exceptionThrown") => self.errors.push(params["exceptionDetails"].to_string()),
                Some("Log.entryAdded") if params["entry"]["level"] == "error" => {
                    self.errors.push(params["entry"].to_string());
                }
                _ => {}
            }
        }
    }

    /// Opens an address, and waits until its scripts have run: the elements of the page exist before they react.
    pub(super) async fn open(&mut self, address: &str) -> Result<()> {
        self.call("Page.navigate", json!({"url": address})).await?;
        let place = json!(address.split('#').next());
        self.until(&format!("location.href.startsWith({place}) && document.readyState === 'complete'")).await
    }

    /// The value of an expression in the page, after its promise.
    pub(super) async fn value(&mut self, expression: &str) -> Result<Value> {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        let answer = self.call("Runtime.evaluate", params).await?;
        let exception = &answer["exceptionDetails"];
        ensure!(exception.is_null(), "{expression}: {}", exception["exception"]["description"]);
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression is true.
    pub(super) async fn until(&mut self, expression: &str) -> Result<()> {
        let start = Instant::now();
        loop {
            // Before the page is loaded an element may be missing.
            if self.value(expression).await.is_ok_and(|value| value == true) {
                return Ok(());
            }
            if start.elapsed() > PATIENCE {
                let text = self.value("document.body.innerText").await?;
                bail!(
                    "still false: {expression}\n{}\nerrors: {:?}",
                    text.as_str().unwrap_or_default(),
                    self.errors
                );
            }
            sleep(PAUSE).await;
        }
    }

    /// Waits until an element has this text.
    pub(super) async fn shows(&mut self, selector: &str, text: &str) -> Result<()> {
        let all = format!("[...document.querySelectorAll({})]", json!(selector));
        self.until(&format!("{all}.some((one) => one.textContent.includes({}))", json!(text))).await
    }

    /// Clicks with the mouse on the middle of the first element with this selector, as soon as there is one.
    pub(super) async fn click(&mut self, selector: &str) -> Result<()> {
        let one = format!("document.querySelector({})", json!(selector));
        self.until(&format!("{one} !== null && !{one}.disabled")).await?;
        let place = format!(
            "(() => {{ const one = {one}; one.scrollIntoView({{block: 'nearest'}}); const at = one.getBoundingClientRect(); \
             return [at.x + at.width / 2, at.y + at.height / 2]; }})()"
        );
        let place = self.value(&place).await?;
        for kind in ["mousePressed", "mouseReleased"] {
            let event =
                json!({"type": kind, "x": place[0], "y": place[1], "button": "left", "clickCount": 1});
            self.call("Input.dispatchMouseEvent", event).await?;
        }
        Ok(())
    }

    /// Presses a key, such as `/`, `Enter` or `ArrowDown`.
    pub(super) async fn press(&mut self, key: &str) -> Result<()> {
        let mut down = json!({"type": "keyDown", "key": key});
        match key {
            "Enter" => down["text"] = json!("\r"),
            // The browser itself closes dialogs, by the code of the key.
            "Escape" => down["windowsVirtualKeyCode"] = json!(27),
            letter if letter.chars().count() == 1 => down["text"] = json!(letter),
            _ => {}
        }
        self.call("Input.dispatchKeyEvent", down).await?;
        self.call("Input.dispatchKeyEvent", json!({"type": "keyUp", "key": key})).await.map(drop)
    }

    pub(super) async fn write(&mut self, text: &str) -> Result<()> {
        self.call("Input.insertText", json!({"text": text})).await.map(drop)
    }

    /// Light or dark, as the system would prefer it.
    pub(super) async fn prefers(&mut self, scheme: &str) -> Result<()> {
        let features = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", features).await.map(drop)
    }

    /// Writes a picture of the page to `<name>.png` in the folder of `KRAKEN_UI_SCREENSHOTS`, if it is set.
    pub(super) async fn picture(&mut self, name: &str) -> Result<()> {
        let Some(folder) = env::var_os("KRAKEN_UI_SCREENSHOTS") else { return Ok(()) };
        let picture = self.call("Page.captureScreenshot", json!({"format": "png"})).await?;
        let data = picture["data"].as_str().context("no picture")?;
        std::fs::write(Path::new(&folder).join(format!("{name}.png")), bytes_of_base64(data)?)?;
        Ok(())
    }
}

fn bytes_of_base64(text: &str) -> Result<Vec<u8>> {
    // As Kubernetes encodes the data of a Secret.
    let bytes: k8s_openapi::ByteString = serde_json::from_value(json!(text))?;
    Ok(bytes.0)
}
