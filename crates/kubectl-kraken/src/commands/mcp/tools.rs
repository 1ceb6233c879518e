//! The commands that an assistant may run: all of them read, and `plan` makes dry runs. Pure.

use serde_json::{Map, Value, json};

/// A command as a tool.
#[derive(Debug)]
pub(super) struct Tool {
    pub(super) name: &'static str,
    about: &'static str,
    /// The command and its flags.
    words: &'static [&'static str],
    arguments: &'static [Argument],
}

/// An argument of a tool.
#[derive(Debug)]
struct Argument {
    name: &'static str,
    about: &'static str,
    form: Form,
    is_required: bool,
}

/// How an argument is passed to the command.
#[derive(Clone, Copy, Debug)]
enum Form {
    Positional,
    /// A flag with a value.
    Option(&'static str),
    /// A flag without a value.
    Switch(&'static str),
    /// Standard input.
    Input,
}

/// A command line, and its standard input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) words: Vec<String>,
    pub(super) input: Option<String>,
}

const TARGET: Argument = Argument {
    name: "resource",
    about: "KIND/NAME, such as vpc/main",
    form: Form::Positional,
    is_required: true,
};
const NAMESPACE: Argument = Argument {
    name: "namespace",
    about: "The namespace. Default: that of the context",
    form: Form::Option("--namespace"),
    is_required: false,
};
const ALL: Argument = Argument {
    name: "all_namespaces",
    about: "All namespaces",
    form: Form::Switch("--all-namespaces"),
    is_required: false,
};
const MANIFESTS: Argument = Argument {
    name: "manifests",
    about: "YAML or JSON documents, separated by ---",
    form: Form::Input,
    is_required: true,
};

/// All of them.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "status",
        about: "The resources as a tree, which are not ready and why, and what to fix first. With a resource, only what it uses and what uses it.",
        words: &["status", "-o", "json"],
        arguments: &[Argument { is_required: false, ..TARGET }, NAMESPACE, ALL],
    },
    Tool {
        name: "why",
        about: "The root causes for which a resource is not ready, the way from each to it, and what to do.",
        words: &["why", "-o", "json"],
        arguments: &[TARGET, NAMESPACE],
    },
    Tool {
        name: "deps",
        about: "What a resource depends on, or with reverse what depends on it.",
        words: &["deps", "-o", "json"],
        arguments: &[
            TARGET,
            Argument {
                name: "reverse",
                about: "What depends on it",
                form: Form::Switch("--reverse"),
                is_required: false,
            },
            NAMESPACE,
        ],
    },
    Tool {
        name: "find",
        about: "The resource of a remote object by its id, ARN or address, in all namespaces.",
        words: &["find"],
        arguments: &[Argument {
            name: "id",
            about: "Such as sg-0abc",
            form: Form::Positional,
            is_required: true,
        }],
    },
    Tool {
        name: "inventory",
        about: "All remote objects with id, location, whether adopted, and what a deletion does.",
        words: &["inventory", "-o", "json"],
        arguments: &[NAMESPACE, ALL],
    },
    Tool {
        name: "drift",
        about: "The fields in which the cloud differs from the specs, of resources whose drift is reported and not reverted.",
        words: &["drift", "-o", "json"],
        arguments: &[NAMESPACE, ALL],
    },
    Tool {
        name: "paths",
        about: "What can be referenced of a resource, with types and present values. Values from Secrets are not published.",
        words: &["paths", "-o", "json"],
        arguments: &[Argument { about: "KIND/NAME, or KIND", ..TARGET }, NAMESPACE],
    },
    Tool {
        name: "lint",
        about: "What is wrong with manifests, without a cluster: schemas, rules and references, with lines.",
        words: &["lint", "-o", "json", "-"],
        arguments: &[MANIFESTS, NAMESPACE],
    },
    Tool {
        name: "plan",
        about: "What an apply of manifests will do in the cloud, by dry runs. Nothing is changed.",
        words: &["plan", "-o", "json", "-f", "-"],
        arguments: &[
            MANIFESTS,
            Argument {
                name: "prune",
                about: "Labels such as app=shop: also the deletion of resources with them that are not in the manifests",
                form: Form::Option("--prune"),
                is_required: false,
            },
            NAMESPACE,
        ],
    },
    Tool {
        name: "plan_destroy",
        about: "What a deletion of all resources of a namespace will do in the cloud, by dry runs. Nothing is changed.",
        words: &["plan", "-o", "json", "--destroy"],
        arguments: &[Argument { is_required: true, ..NAMESPACE }],
    },
    Tool {
        name: "check",
        about: "Whether the installation is complete and works: CRDs, controllers, webhooks, credentials, rights.",
        words: &["check"],
        arguments: &[NAMESPACE],
    },
];

impl Tool {
    /// As `tools/list` describes it.
    pub(super) fn described(&self) -> Value {
        let property = |argument: &Argument| {
            let json_type = if matches!(argument.form, Form::Switch(_)) { "boolean" } else { "string" };
            (argument.name.to_owned(), json!({"type": json_type, "description": argument.about}))
        };
        let properties: Map<String, Value> = self.arguments.iter().map(property).collect();
        let required: Vec<_> =
            self.arguments.iter().filter(|one| one.is_required).map(|one| one.name).collect();
        json!({
            "name": self.name,
            "description": self.about,
            "inputSchema": {
                "type": "object", "properties": properties, "required": required, "additionalProperties": false,
            },
            "annotations": {"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true},
        })
    }

    /// The command line of a call, or what is wrong with its arguments.
    pub(super) fn call(&self, given: &Value) -> Result<Call, String> {
        let empty = Map::new();
        let given = match given {
            Value::Null => &empty,
            Value::Object(given) => given,
            _ => return Err("the arguments must be an object".to_owned()),
        };
        if let Some(unknown) = given.keys().find(|name| !self.arguments.iter().any(|one| one.name == *name)) {
            return Err(format!("{} has no argument {unknown}", self.name));
        }
        let mut call = Call { words: self.words.iter().map(|&word| word.to_owned()).collect(), input: None };
        let mut positional = vec![];
        for Argument { name, form, is_required, .. } in self.arguments {
            let value = given.get(*name).filter(|value| !value.is_null());
            let text = value.and_then(Value::as_str).filter(|text| !text.is_empty());
            match (form, value) {
                (_, None) if *is_required => return Err(format!("{} requires {name}", self.name)),
                (_, None) => {}
                (Form::Switch(flag), Some(value)) => match value.as_bool() {
                    Some(true) => call.words.push((*flag).to_owned()),
                    Some(false) => {}
                    None => return Err(format!("{name} must be true or false")),
                },
                (form, Some(_)) => {
                    let Some(text) = text else { return Err(format!("{name} must be a text")) };
                    match form {
                        Form::Positional => positional.push(text.to_owned()),
                        // In one word, so that a text cannot be a flag of its own.
                        Form::Option(flag) => call.words.push(format!("{flag}={text}")),
                        Form::Input => call.input = Some(text.to_owned()),
                        Form::Switch(_) => {}
                    }
                }
            }
        }
        if !positional.is_empty() {
            // What follows is no flag.
            call.words.push("--".to_owned());
            call.words.extend(positional);
        }
        Ok(call)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::args::{Args, Command};

    fn tool(name: &str) -> &'static Tool {
        TOOLS.iter().find(|tool| tool.name == name).unwrap()
    }

    #[test]
    fn every_tool_is_a_valid_command_that_reads() {
        for tool in TOOLS {
            let arguments: Map<String, Value> = tool
                .arguments
                .iter()
                .map(|one| {
                    (
                        one.name.to_owned(),
                        if matches!(one.form, Form::Switch(_)) { json!(true) } else { json!("vpc/a") },
                    )
                })
                // These exclude each other.
                .filter(|(name, _)| name != "all_namespaces")
                .collect();
            let call = tool.call(&Value::Object(arguments)).unwrap();
            let words = std::iter::once("kubectl-kraken".to_owned()).chain(call.words);
            let args = Args::try_parse_from(words).unwrap();
            let reads = match args.command {
                Command::Drift { accept, apply, .. } => !accept && !apply,
                Command::Status { watch, .. } => !watch,
                command => matches!(
                    command,
                    Command::Why { .. }
                        | Command::Deps { .. }
                        | Command::Find { .. }
                        | Command::Inventory { .. }
                        | Command::Paths { .. }
                        | Command::Lint { .. }
                        | Command::Plan { .. }
                        | Command::Check
                ),
            };
            assert!(reads, "{}", tool.name);
            assert_eq!(tool.described()["annotations"]["readOnlyHint"], true);
        }
    }

    #[test]
    fn an_argument_cannot_become_a_flag_or_a_file() {
        let call = tool("why").call(&json!({"resource": "--kubeconfig=/x", "namespace": "a --all"})).unwrap();
        assert_eq!(call.words, ["why", "-o", "json", "--namespace=a --all", "--", "--kubeconfig=/x"]);
        let call = tool("lint").call(&json!({"manifests": "/etc/passwd"})).unwrap();
        assert_eq!(
            (call.words.last().map(String::as_str), call.input.as_deref()),
            (Some("-"), Some("/etc/passwd"))
        );
    }

    #[test]
    fn wrong_arguments_are_named() {
        let error = |name: &str, arguments: Value| tool(name).call(&arguments).unwrap_err();
        assert_eq!(error("why", json!({})), "why requires resource");
        assert_eq!(error("why", json!({"resource": 3})), "resource must be a text");
        assert_eq!(
            error("deps", json!({"resource": "vpc/a", "reverse": "yes"})),
            "reverse must be true or false"
        );
        assert_eq!(error("status", json!({"watch": true})), "status has no argument watch");
        assert_eq!(error("status", json!([])), "the arguments must be an object");
    }
}
