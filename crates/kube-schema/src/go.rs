//! Values as Go prints them: they are part of error messages.

use serde_json::Value;

/// A float as `%v` prints it.
pub fn float(number: f64) -> String {
    let exponent = if number == 0.0 { 0 } else { exponent_of(number) };
    if !(-4..6).contains(&exponent) {
        return scientific(number);
    }
    format!("{number}")
}

fn exponent_of(number: f64) -> i32 {
    let text = format!("{number:e}");
    text.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or_default()
}

fn scientific(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{digits}e{sign}{:02}", exponent.abs())
}

/// `%v`.
pub fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_of(number),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(map) => {
            let fields: Vec<String> =
                map.iter().map(|(key, value)| format!("{key}:{}", plain(value))).collect();
            format!("map[{}]", fields.join(" "))
        }
    }
}

/// `%#v`.
pub fn syntax(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => number_of(number),
        Value::String(text) => quoted(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(syntax).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(map) => {
            let field = |(key, value): (&String, &Value)| format!("{}:{}", quoted(key), syntax(value));
            let fields: Vec<String> = map.iter().map(field).collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
    }
}

/// `%q`.
pub fn quoted(text: &str) -> String {
    format!("{text:?}").replace("\\'", "'")
}

/// `%T`.
pub fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_f64() => "float64",
        Value::Number(_) => "int64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

fn number_of(number: &serde_json::Number) -> String {
    match number.as_f64().filter(|_| number.is_f64()) {
        Some(value) => float(value),
        None => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_are_printed_as_go_does() {
        assert_eq!(plain(&json!({"b": [1, null], "a": "x"})), "map[a:x b:[1 <nil>]]");
        assert_eq!(syntax(&json!({"a": [1, "x"]})), r#"map[string]interface {}{"a":[]interface {}{1, "x"}}"#);
        for (number, text) in
            [(1.25, "1.25"), (65536.0, "65536"), (1e6, "1e+06"), (1e-5, "1e-05"), (0.0, "0")]
        {
            assert_eq!(float(number), text);
        }
    }
}
