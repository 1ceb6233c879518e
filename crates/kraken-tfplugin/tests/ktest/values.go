package main

import (
	"encoding/json"
	"maps"
	"math/big"
	"os"
	"path/filepath"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// values are the attributes and blocks of an object; nil for null.
type values map[string]tftypes.Value

func unpack(value *tfprotov6.DynamicValue, of tftypes.Type) (values, error) {
	unpacked, err := value.Unmarshal(of)
	if err != nil || unpacked.IsNull() {
		return nil, err
	}
	return object(unpacked), nil
}

func pack(value values, of tftypes.Type) (*tfprotov6.DynamicValue, error) {
	packed := tftypes.NewValue(of, nil)
	if value != nil {
		packed = tftypes.NewValue(of, map[string]tftypes.Value(value))
	}
	dynamic, err := tfprotov6.NewDynamicValue(of, packed)
	return &dynamic, err
}

func object(value tftypes.Value) values {
	var attributes map[string]tftypes.Value
	_ = value.As(&attributes)
	return attributes
}

func list(value tftypes.Value) []tftypes.Value {
	var elements []tftypes.Value
	_ = value.As(&elements)
	return elements
}

func text(value tftypes.Value) string {
	var result string
	if value.IsKnown() {
		_ = value.As(&result)
	}
	return result
}

func number(value tftypes.Value) int64 {
	result := new(big.Float)
	if value.IsKnown() && !value.IsNull() {
		_ = value.As(&result)
	}
	integer, _ := result.Int64()
	return integer
}

func unknown(of tftypes.Type) tftypes.Value { return tftypes.NewValue(of, tftypes.UnknownValue) }

// each changes the objects of a block or of a nested attribute.
func each(value tftypes.Value, change func(values)) tftypes.Value {
	if value.IsNull() || !value.IsKnown() {
		return value
	}
	elements := list(value)
	for i, element := range elements {
		attributes := object(element)
		change(attributes)
		elements[i] = tftypes.NewValue(element.Type(), map[string]tftypes.Value(attributes))
	}
	return tftypes.NewValue(value.Type(), elements)
}

func plain(value tftypes.Value) any {
	if value.IsNull() || !value.IsKnown() {
		return nil
	}
	switch of := value.Type(); {
	case of.Is(tftypes.String):
		return text(value)
	case of.Is(tftypes.Number):
		result := new(big.Float)
		_ = value.As(&result)
		return json.Number(result.Text('f', -1))
	case of.Is(tftypes.Bool):
		var result bool
		_ = value.As(&result)
		return result
	case of.Is(tftypes.List{}), of.Is(tftypes.Set{}), of.Is(tftypes.Tuple{}):
		result := []any{}
		for _, element := range list(value) {
			result = append(result, plain(element))
		}
		return result
	default:
		result := map[string]any{}
		for name, attribute := range object(value) {
			result[name] = plain(attribute)
		}
		return result
	}
}

func (p *provider) path(id string) string { return filepath.Join(p.folder, filepath.Base(id)+".json") }

// write replaces the file of an object by its attributes as JSON.
func (p *provider) write(file values) error {
	content := map[string]any{}
	for name, value := range file {
		content[name] = plain(value)
		if name == "anything" && !value.IsNull() {
			of, err := value.Type().MarshalJSON() //nolint:staticcheck
			if err != nil {
				return err
			}
			content[name] = map[string]any{"type": json.RawMessage(of), "value": plain(value)}
		}
	}
	bytes, err := json.MarshalIndent(content, "", "  ")
	if err != nil {
		return err
	}
	target := p.path(text(file["id"]))
	if err := os.WriteFile(target+".tmp", bytes, 0o600); err != nil {
		return err
	}
	return os.Rename(target+".tmp", target)
}

// read returns nil if there is no object.
func (p *provider) read(id string) (values, error) {
	bytes, err := os.ReadFile(p.path(id))
	if os.IsNotExist(err) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	// Another version may have written more.
	content := map[string]json.RawMessage{}
	if err := json.Unmarshal(bytes, &content); err != nil {
		return nil, err
	}
	maps.DeleteFunc(content, func(name string, _ json.RawMessage) bool {
		_, known := p.fileType().AttributeTypes[name]
		return !known
	})
	if bytes, err = json.Marshal(content); err != nil {
		return nil, err
	}
	value, err := tftypes.ValueFromJSON(bytes, p.fileType()) //nolint:staticcheck
	return object(value), err
}

func (p *provider) all() ([]values, error) {
	entries, err := os.ReadDir(p.folder)
	if err != nil {
		return nil, err
	}
	var files []values
	for _, entry := range entries {
		if id, isFile := strings.CutSuffix(entry.Name(), ".json"); isFile {
			file, err := p.read(id)
			if err != nil {
				return nil, err
			}
			files = append(files, file)
		}
	}
	return files, nil
}
