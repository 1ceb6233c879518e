//! The part of the Model Context Protocol that a server with tools needs: JSON-RPC 2.0, one message in each line. Pure.

use serde_json::{Value, json};

use super::tools::{Call, TOOLS};

/// The versions of the protocol in which these messages are the same, the latest first.
const VERSIONS: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The instructions that an assistant gets first.
const INSTRUCTIONS: &str = "Kraken manages cloud infrastructure by Kubernetes resources. These tools read; none of them changes anything. \
                            Begin with status, and use why for a resource that is not ready. Before an apply, use lint and then plan.";

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
const METHOD_NOT_FOUND: i32 = -32601;
const INVALID_PARAMS: i32 = -32602;

/// What becomes of a line.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    /// The answer is known; a notification has none.
    Answered(Option<Answer>),
    /// A command must be run.
    Call { id: Value, call: Call },
}

/// A response.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer(Value);

/// What a command printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Output {
    pub(super) is_success: bool,
    pub(super) text: String,
    pub(super) errors: String,
}

impl Answer {
    fn result(id: Value, result: Value) -> Self {
        Self(json!({"jsonrpc": "2.0", "id": id, "result": result}))
    }

    fn error(id: Value, code: i32, message: impl Into<String>) -> Self {
        Self(json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message.into()}}))
    }

    /// The answer of a command. Exit codes such as "not ready" and "something changes" are answers; one without output is an error.
    pub(super) fn of_call(id: Value, output: &Output) -> Self {
        let texts = [&output.text, &output.errors].into_iter().filter(|text| !text.trim().is_empty());
        let content: Vec<_> = texts.map(|text| json!({"type": "text", "text": text})).collect();
        let is_error = !output.is_success && output.text.trim().is_empty();
        Self::result(id, json!({"content": content, "isError": is_error}))
    }

    /// The line.
    pub(super) fn text(&self) -> String {
        self.0.to_string()
    }
}

/// Reads one line.
pub(super) fn read(line: &str) -> Request {
    let Ok(message) = serde_json::from_str::<Value>(line) else {
        return Request::Answered(Some(Answer::error(
            Value::Null,
            PARSE_ERROR,
            "a line must be one JSON object",
        )));
    };
    let (id, params) = (message.get("id").cloned(), &message["params"]);
    let Some(method) = message["method"].as_str().filter(|_| message["jsonrpc"] == "2.0") else {
        let id = id.unwrap_or_default();
        // A response to a request that this server never makes is ignored.
        let is_response = message.get("result").is_some() || message.get("error").is_some();
        let error = Answer::error(id, INVALID_REQUEST, "expected a request of JSON-RPC 2.0");
        return Request::Answered((!is_response).then_some(error));
    };
    let Some(id) = id else {
        // A notification.
        return Request::Answered(None);
    };
    let answer = match method {
        "initialize" => Answer::result(id, initialized(params["protocolVersion"].as_str())),
        "ping" => Answer::result(id, json!({})),
        "tools/list" => {
            let tools: Vec<_> = TOOLS.iter().map(super::tools::Tool::described).collect();
            Answer::result(id, json!({"tools": tools}))
        }
        "tools/call" => {
            let name = params["name"].as_str().unwrap_or_default();
            match TOOLS.iter().find(|tool| tool.name == name) {
                None => Answer::error(id, INVALID_PARAMS, format!("no tool is named {name:?}")),
                Some(tool) => match tool.call(&params["arguments"]) {
                    Ok(call) => return Request::Call { id, call },
                    Err(why) => Answer::error(id, INVALID_PARAMS, why),
                },
            }
        }
        _ => Answer::error(
            id,
            METHOD_NOT_FOUND,
            format!("{method} is not supported: this server has only tools"),
        ),
    };
    Request::Answered(Some(answer))
}

fn initialized(wanted: Option<&str>) -> Value {
    let version = wanted.filter(|wanted| VERSIONS.contains(wanted)).unwrap_or(VERSIONS[0]);
    json!({
        "protocolVersion": version,
        "capabilities": {"tools": {"listChanged": false}},
        "serverInfo": {"name": "kubectl-kraken", "version": env!("CARGO_PKG_VERSION")},
        "instructions": INSTRUCTIONS,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answered(message: Value) -> Value {
        match read(&message.to_string()) {
            Request::Answered(Some(Answer(answer))) => answer,
            other => panic!("{other:?}"),
        }
    }

    fn request(method: &str, params: Value) -> Value {
        json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
    }

    #[test]
    fn a_session_begins_with_the_version_of_the_client_if_it_is_known() {
        let version = |version: &str| {
            answered(request("initialize", json!({"protocolVersion": version})))["result"]["protocolVersion"]
                .clone()
        };
        assert_eq!(version("2025-03-26"), "2025-03-26");
        assert_eq!(version("2099-01-01"), VERSIONS[0]);
        let notification = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(read(&notification.to_string()), Request::Answered(None));
        assert_eq!(answered(request("ping", Value::Null)), json!({"jsonrpc": "2.0", "id": 7, "result": {}}));
    }

    #[test]
    fn tools_are_listed_and_called() {
        let list = answered(request("tools/list", json!({})));
        let names: Vec<_> =
            list["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
        assert!(names.contains(&&json!("why")) && !names.contains(&&json!("apply")), "{names:?}");
        let call = request("tools/call", json!({"name": "why", "arguments": {"resource": "vpc/main"}}));
        let Request::Call { id, call } = read(&call.to_string()) else { panic!("no call") };
        assert_eq!((id, call.words.last().map(String::as_str)), (json!(7), Some("vpc/main")));
    }

    #[test]
    fn wrong_messages_are_errors_with_the_codes_of_json_rpc() {
        let code = |message: Value| answered(message)["error"]["code"].clone();
        assert_eq!(code(request("tools/call", json!({"name": "apply"}))), INVALID_PARAMS);
        assert_eq!(code(request("tools/call", json!({"name": "why"}))), INVALID_PARAMS);
        assert_eq!(code(request("resources/list", json!({}))), METHOD_NOT_FOUND);
        assert_eq!(code(json!({"id": 1, "method": "ping"})), INVALID_REQUEST);
        assert_eq!(code(json!([request("ping", json!({}))])), INVALID_REQUEST);
        let Request::Answered(Some(Answer(answer))) = read("{") else { panic!("no answer") };
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(PARSE_ERROR), &Value::Null));
        assert_eq!(read(r#"{"jsonrpc": "2.0", "id": 1, "result": {}}"#), Request::Answered(None));
    }

    #[test]
    fn a_resource_that_is_not_ready_is_an_answer_and_a_missing_one_an_error() {
        let result = |text: &str, errors: &str| {
            let output = Output { is_success: false, text: text.into(), errors: errors.into() };
            Answer::of_call(json!(1), &output).0["result"].clone()
        };
        assert_eq!(result("{}", "")["isError"], false);
        let missing = result("", "error: VPC/x does not exist");
        assert_eq!(
            (&missing["isError"], &missing["content"][0]["text"]),
            (&json!(true), &json!("error: VPC/x does not exist"))
        );
    }
}
