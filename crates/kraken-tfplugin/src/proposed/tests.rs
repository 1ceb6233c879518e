use crate::schema::{Attribute, Block, Form, NestedBlock, Nesting};
use crate::types::Type;
use crate::value::Value;

use super::proposed_new_state;

fn attribute(form: Form) -> Attribute {
    Attribute {
        form,
        description: String::new(),
        is_required: false,
        is_optional: false,
        is_computed: false,
        is_sensitive: false,
        is_write_only: false,
        is_deprecated: false,
    }
}

fn text() -> Attribute {
    Attribute { is_optional: true, ..attribute(Form::Plain(Type::String)) }
}

fn computed() -> Attribute {
    Attribute { is_computed: true, ..attribute(Form::Plain(Type::String)) }
}

fn either() -> Attribute {
    Attribute { is_computed: true, ..text() }
}

/// `name` is configured, `id` computed, `size` either.
fn members() -> Vec<(&'static str, Attribute)> {
    vec![("name", text()), ("id", computed()), ("size", either())]
}

fn block(attributes: Vec<(&str, Attribute)>) -> Block {
    let attributes = attributes.into_iter().map(|(name, attribute)| (name.to_owned(), attribute)).collect();
    Block { attributes, ..Block::default() }
}

fn with_blocks(nesting: Nesting) -> Block {
    let nested = NestedBlock { block: block(members()), nesting, min_items: 0, max_items: 0 };
    Block { blocks: [("disk".to_owned(), nested)].into(), ..Block::default() }
}

fn with_nested(nesting: Nesting, is_computed: bool) -> Block {
    let form = Form::Nested { nesting, attributes: block(members()).attributes };
    block(vec![("disk", Attribute { is_optional: true, is_computed, ..attribute(form) })])
}

fn optional(text: &str) -> Value {
    if text.is_empty() { Value::Null } else { text.into() }
}

fn disk(name: &str, id: &str, size: &str) -> Value {
    Value::object([("name", optional(name)), ("id", optional(id)), ("size", optional(size))])
}

/// The proposed value of `disk`.
fn proposed(block: &Block, prior: Value, config: Value) -> Value {
    let object = |disk| Value::object([("disk", disk)]);
    proposed_new_state(block, &object(prior), &object(config)).attribute("disk").clone()
}

#[test]
fn computed_attributes_keep_their_value_unless_they_are_configured() {
    let block = block(members());
    let prior = disk("a", "1", "10");
    assert_eq!(proposed_new_state(&block, &prior, &disk("b", "", "")), disk("b", "1", "10"));
    assert_eq!(proposed_new_state(&block, &prior, &disk("", "", "20")), disk("", "1", "20"));
    let unknown = Value::object([("name", Value::Unknown), ("id", Value::Null), ("size", Value::Unknown)]);
    assert_eq!(
        proposed_new_state(&block, &prior, &unknown),
        Value::object([("name", Value::Unknown), ("id", "1".into()), ("size", Value::Unknown)])
    );
}

#[test]
fn a_new_object_has_its_configuration_and_a_deleted_one_nothing() {
    let block = block(members());
    assert_eq!(proposed_new_state(&block, &Value::Null, &disk("a", "", "")), disk("a", "", ""));
    assert_eq!(proposed_new_state(&block, &disk("a", "1", ""), &Value::Null), Value::Null);
}

#[test]
fn blocks_and_attributes_in_lists_are_merged_by_index() {
    let prior = Value::List(vec![disk("a", "1", "10"), disk("b", "2", "20")]);
    let config = Value::List(vec![disk("b", "", "")]);
    for block in [with_blocks(Nesting::List), with_nested(Nesting::List, false)] {
        assert_eq!(proposed(&block, prior.clone(), config.clone()), Value::List(vec![disk("b", "1", "10")]));
        let more = Value::List(vec![disk("a", "", ""), disk("b", "", ""), disk("c", "", "")]);
        let merged = Value::List(vec![disk("a", "1", "10"), disk("b", "2", "20"), disk("c", "", "")]);
        assert_eq!(proposed(&block, prior.clone(), more), merged);
    }
}

#[test]
fn blocks_and_attributes_in_maps_are_merged_by_key() {
    let map = |elements: &[(&str, Value)]| {
        Value::Map(elements.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect())
    };
    let prior = map(&[("x", disk("a", "1", "10")), ("y", disk("b", "2", ""))]);
    for block in [with_blocks(Nesting::Map), with_nested(Nesting::Map, false)] {
        let config = map(&[("y", disk("c", "", "")), ("z", disk("d", "", ""))]);
        let merged = map(&[("y", disk("c", "2", "")), ("z", disk("d", "", ""))]);
        assert_eq!(proposed(&block, prior.clone(), config), merged);
    }
}

#[test]
fn elements_of_sets_are_merged_with_what_they_can_have_become() {
    let prior = Value::set([disk("a", "1", "10"), disk("b", "2", "20"), disk("b", "3", "30")]);
    for block in [with_blocks(Nesting::Set), with_nested(Nesting::Set, false)] {
        // The first is unchanged, the second has another size than both, the third is one of two.
        let config = Value::set([disk("a", "", ""), disk("b", "", "25"), disk("b", "", "")]);
        let merged = proposed(&block, prior.clone(), config);
        assert_eq!(merged, Value::set([disk("a", "1", "10"), disk("b", "", "25"), disk("b", "2", "20")]));
    }
}

#[test]
fn an_element_that_is_configured_in_detail_is_merged_first() {
    let block = with_blocks(Nesting::Set);
    let prior = Value::set([disk("b", "2", "20"), disk("b", "3", "30")]);
    // Without a name, it can have become none; with a name only, either, but not the one that has its size configured.
    let config = Value::set([disk("", "", ""), disk("b", "", ""), disk("b", "", "20")]);
    let merged = Value::set([disk("", "", ""), disk("b", "3", "30"), disk("b", "2", "20")]);
    assert_eq!(proposed(&block, prior, config), merged);
}

#[test]
fn a_set_in_an_element_of_a_set_has_to_be_equal() {
    let strings = |elements: &[&str]| Value::set(elements.iter().map(|text| (*text).into()));
    let tags = Attribute { form: Form::Plain(Type::Set(Box::new(Type::String))), ..either() };
    let form = Form::Nested {
        nesting: Nesting::Set,
        attributes: block(vec![("tags", tags), ("id", computed())]).attributes,
    };
    let block = block(vec![("disk", Attribute { is_optional: true, ..attribute(form) })]);
    let element = |tags: Value, id: &str| Value::set([Value::object([("tags", tags), ("id", optional(id))])]);
    let prior = element(strings(&["a"]), "1");
    assert_eq!(proposed(&block, prior.clone(), element(strings(&["a"]), "")), prior);
    assert_eq!(proposed(&block, prior, element(Value::Null, "")), element(Value::Null, ""));
}

#[test]
fn two_equal_elements_of_a_configuration_use_two_prior_ones() {
    let block = with_blocks(Nesting::Set);
    let prior = Value::set([disk("b", "2", "20"), disk("b", "3", "30")]);
    let config = Value::set([disk("b", "", ""), disk("b", "", "30")]);
    assert_eq!(proposed(&block, prior.clone(), config), prior);
}

#[test]
fn a_single_block_is_merged_or_removed() {
    for block in [with_blocks(Nesting::Single), with_nested(Nesting::Single, false)] {
        assert_eq!(proposed(&block, disk("a", "1", ""), disk("b", "", "")), disk("b", "1", ""));
        assert_eq!(proposed(&block, disk("a", "1", ""), Value::Null), Value::Null);
        assert_eq!(proposed(&block, Value::Null, disk("b", "", "")), disk("b", "", ""));
        assert_eq!(proposed(&block, disk("a", "1", ""), Value::Unknown), Value::Unknown);
    }
}

#[test]
fn nested_objects_that_came_from_a_configuration_are_not_kept() {
    let block = with_nested(Nesting::List, true);
    // Only computed values: they can be the provider's.
    let computed = Value::List(vec![disk("", "1", "10")]);
    assert_eq!(proposed(&block, computed.clone(), Value::Null), computed);
    // A name is always configured.
    assert_eq!(proposed(&block, Value::List(vec![disk("a", "1", "10")]), Value::Null), Value::Null);

    // Also if it is in a computed one.
    let inner = Attribute { is_computed: true, is_optional: false, ..block.attributes["disk"].clone() };
    let form = Form::Nested { nesting: Nesting::Single, attributes: [("inner".to_owned(), inner)].into() };
    let outer = Attribute { is_computed: true, is_optional: true, ..attribute(form) };
    let block = self::block(vec![("disk", outer)]);
    let prior = |name| Value::object([("inner", Value::List(vec![disk(name, "1", "")]))]);
    assert_eq!(proposed(&block, prior("a"), Value::Null), Value::Null);
    assert_eq!(proposed(&block, prior(""), Value::Null), prior(""));
}

#[test]
fn absent_blocks_are_empty() {
    let block = with_blocks(Nesting::List);
    assert_eq!(block.with_blocks(Value::object([])), Value::object([("disk", Value::List(vec![]))]));
    assert_eq!(block.with_blocks(Value::Null), Value::Null);
}
