package main

import (
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

type attribute = tfprotov6.SchemaAttribute

func providerSchema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*attribute{
		{Name: "folder", Type: tftypes.String, Required: true, Description: "An existing folder, for the objects."},
		{Name: "token", Type: tftypes.String, Optional: true, Sensitive: true, Description: "Anything but \"wrong\"."},
	}}}
}

// fileSchema has version 1. In version 0, the name was the title.
func fileSchema(protocol int) *tfprotov6.Schema {
	block := &tfprotov6.SchemaBlock{
		Description: "A file.",
		Attributes: []*attribute{
			{Name: "id", Type: tftypes.String, Computed: true},
			{Name: "name", Type: tftypes.String, Required: true, Description: "A change requires a new file."},
			{Name: "description", Type: tftypes.String, Optional: true, Description: "Can be searched for."},
			{Name: "size", Type: tftypes.Number, Optional: true, Computed: true, Description: "10 by default."},
			{Name: "labels", Type: tftypes.Map{ElementType: tftypes.String}, Optional: true},
			{Name: "anything", Type: tftypes.DynamicPseudoType, Optional: true},
			{Name: "secret", Type: tftypes.String, Optional: true, Sensitive: true},
			{Name: "password", Type: tftypes.String, Optional: true, WriteOnly: true},
			{Name: "fingerprint", Type: tftypes.String, Computed: true, Sensitive: true},
			{Name: "revision", Type: tftypes.Number, Computed: true, Description: "The number of changes."},
			{Name: "delay_ms", Type: tftypes.Number, Optional: true, Description: "How long a change takes, after its effect."},
			{Name: "exit_after_ms", Type: tftypes.Number, Optional: true, Description: "When the plugin ends during a change."},
			{Name: "fail", Type: tftypes.String, Optional: true, Description: "A change fails: before its effect, after it, after it and without a state (lost), or when it is a deletion (delete)."},
		},
		BlockTypes: []*tfprotov6.SchemaNestedBlock{
			{TypeName: "rule", Nesting: tfprotov6.SchemaNestedBlockNestingModeList, MaxItems: 8, Block: &tfprotov6.SchemaBlock{Attributes: []*attribute{
				{Name: "port", Type: tftypes.Number, Required: true},
				{Name: "protocol", Type: tftypes.String, Optional: true, Computed: true, Description: "tcp by default."},
			}}},
			{TypeName: "disk", Nesting: tfprotov6.SchemaNestedBlockNestingModeSet, Block: &tfprotov6.SchemaBlock{Attributes: []*attribute{
				{Name: "name", Type: tftypes.String, Required: true},
				{Name: "size", Type: tftypes.Number, Optional: true},
				{Name: "id", Type: tftypes.String, Computed: true},
			}}},
		},
	}
	if protocol == 6 {
		block.Attributes = append(block.Attributes, &attribute{Name: "endpoints", Optional: true, NestedType: &tfprotov6.SchemaObject{
			Nesting: tfprotov6.SchemaObjectNestingModeList,
			Attributes: []*attribute{
				{Name: "host", Type: tftypes.String, Required: true},
				{Name: "address", Type: tftypes.String, Computed: true},
				{Name: "key", Type: tftypes.String, Optional: true, Sensitive: true},
			},
		}})
	}
	block.Attributes = slices.DeleteFunc(block.Attributes, func(one *attribute) bool {
		return slices.Contains(strings.Split(os.Getenv("KTEST_WITHOUT"), ","), one.Name)
	})
	return &tfprotov6.Schema{Version: 1, Block: block}
}

// searchSchema is the schema of the data source, which has the name of the resource.
func searchSchema() *tfprotov6.Schema {
	return &tfprotov6.Schema{Block: &tfprotov6.SchemaBlock{Attributes: []*attribute{
		{Name: "id", Type: tftypes.String, Computed: true},
		{Name: "name", Type: tftypes.String, Optional: true, Computed: true},
		{Name: "description", Type: tftypes.String, Optional: true, Computed: true},
		{Name: "size", Type: tftypes.Number, Computed: true},
	}}}
}
