use super::*;
use crate::jsonpath::Query;
use serde_json::json;

fn yields(query: &str, data: &Value, expected: &Value) {
    let found = Query::parse(query).expect(query);
    let found = found.evaluate(data, &mut Steps::of(1_000_000)).expect(query);
    assert_eq!(json!(found), *expected, "{query}");
}

// The tables of examples of RFC 9535, section 2.3 and 2.5.
#[test]
fn selectors_conform_to_the_rfc() {
    let o = json!({"o": {"j": 1, "k": 2}, "a": [5, 3, [{"j": 4}, {"k": 6}]]});
    for (query, expected) in [
        ("$.o['j','k']", json!([1, 2])),
        ("$.o[*]", json!([1, 2])),
        ("$.a[*]", json!([5, 3, [{"j": 4}, {"k": 6}]])),
        ("$..j", json!([4, 1])),
        ("$..[0]", json!([5, {"j": 4}])),
        ("$.a..[0, 1]", json!([5, 3, {"j": 4}, {"k": 6}])),
        ("$.a[0, 0]", json!([5, 5])),
        ("$.o[*, *]", json!([1, 2, 1, 2])),
        ("$.a[-5]", json!([])),
        ("$.a.x", json!([])),
    ] {
        yields(query, &o, &expected);
    }
}

#[test]
fn slices_conform_to_the_rfc() {
    let letters = json!(["a", "b", "c", "d", "e", "f", "g"]);
    for (query, expected) in [
        ("$[1:3]", "bc"),
        ("$[5:]", "fg"),
        ("$[1:5:2]", "bd"),
        ("$[5:1:-2]", "fd"),
        ("$[::-1]", "gfedcba"),
        ("$[-2:]", "fg"),
        ("$[:-5]", "ab"),
        ("$[0:3:0]", ""),
        ("$[3:1]", ""),
        ("$[-100:100]", "abcdefg"),
        ("$[100:-100:-3]", "gda"),
        ("$[0:7:9007199254740991]", "a"),
    ] {
        let expected: Value = expected.chars().map(|letter| letter.to_string()).collect();
        yields(query, &letters, &expected);
    }
    yields("$[::-1]", &json!([]), &json!([]));
    yields("$[0:1]", &json!("text"), &json!([]));
}

// RFC 9535, section 2.3.5.3.
#[test]
fn filters_conform_to_the_rfc() {
    let data = json!({
        "a": [3, 5, 1, 2, 4, 6, {"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}],
        "o": {"p": 1, "q": 2, "r": 3, "s": 5, "t": {"u": 6}},
        "e": "f",
    });
    for (query, expected) in [
        ("$.a[?@.b == 'kilo']", json!([{"b": "kilo"}])),
        ("$.a[?(@.b == 'kilo')]", json!([{"b": "kilo"}])),
        ("$.a[?@>3.5]", json!([5, 4, 6])),
        ("$.a[?@.b]", json!([{"b": "j"}, {"b": "k"}, {"b": {}}, {"b": "kilo"}])),
        ("$[?@.*]", json!([data["a"], data["o"]])),
        ("$[?@[?@.b]]", json!([data["a"]])),
        ("$.o[?@<3, ?@<3]", json!([1, 2, 1, 2])),
        ("$.a[?@<2 || @.b == \"k\"]", json!([1, {"b": "k"}])),
        ("$.a[?match(@.b, \"[jk]\")]", json!([{"b": "j"}, {"b": "k"}])),
        ("$.a[?search(@.b, \"[jk]\")]", json!([{"b": "j"}, {"b": "k"}, {"b": "kilo"}])),
        ("$.o[?@>1 && @<4]", json!([2, 3])),
        ("$.o[?@.u || @.x]", json!([{"u": 6}])),
        ("$.a[?@.b == $.x]", json!([3, 5, 1, 2, 4, 6])),
        ("$.a[?@ == @]", data["a"].clone()),
        ("$.a[?!@.b && @ >= 5]", json!([5, 6])),
        ("$.a[?!(@.b || @ < 5)]", json!([5, 6])),
        ("$.a[?length(@.b) == 4]", json!([{"b": "kilo"}])),
        ("$.a[?length(@.b) == 0]", json!([{"b": {}}])),
        ("$[?count(@.*) == 5]", json!([data["o"]])),
        ("$[?value(@.t.u) == 6]", json!([data["o"]])),
        ("$.a[?@.b != 'kilo' && @.b]", json!([{"b": "j"}, {"b": "k"}, {"b": {}}])),
        ("$[?@ == $.e]", json!(["f"])),
        ("$.a[?match(@.b, $.nothing)]", json!([])),
        ("$.a[?match(@, 3)]", json!([])),
    ] {
        yields(query, &data, &expected);
    }
}
