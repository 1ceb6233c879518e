package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

const typeName = "ktest_file"

// provider implements the calls that the tests make; any other one panics.
type provider struct {
	tfprotov6.ProviderServer
	protocol int
	folder   string
}

func (p *provider) fileType() tftypes.Object {
	return fileSchema(p.protocol).ValueType().(tftypes.Object)
}

func failed(summary, detail string, path ...string) []*tfprotov6.Diagnostic {
	diagnostic := &tfprotov6.Diagnostic{Severity: tfprotov6.DiagnosticSeverityError, Summary: summary, Detail: detail}
	if len(path) > 0 {
		diagnostic.Attribute = tftypes.NewAttributePath()
		for _, name := range path {
			diagnostic.Attribute = diagnostic.Attribute.WithAttributeName(name)
		}
	}
	return []*tfprotov6.Diagnostic{diagnostic}
}

func (p *provider) GetProviderSchema(context.Context, *tfprotov6.GetProviderSchemaRequest) (*tfprotov6.GetProviderSchemaResponse, error) {
	return &tfprotov6.GetProviderSchemaResponse{
		Provider:           providerSchema(),
		ResourceSchemas:    map[string]*tfprotov6.Schema{typeName: fileSchema(p.protocol)},
		DataSourceSchemas:  map[string]*tfprotov6.Schema{typeName: searchSchema()},
		ServerCapabilities: &tfprotov6.ServerCapabilities{PlanDestroy: true},
	}, nil
}

func (p *provider) GetMetadata(context.Context, *tfprotov6.GetMetadataRequest) (*tfprotov6.GetMetadataResponse, error) {
	return &tfprotov6.GetMetadataResponse{}, nil
}

func (p *provider) ValidateProviderConfig(_ context.Context, request *tfprotov6.ValidateProviderConfigRequest) (*tfprotov6.ValidateProviderConfigResponse, error) {
	return &tfprotov6.ValidateProviderConfigResponse{PreparedConfig: request.Config}, nil
}

func (p *provider) ConfigureProvider(_ context.Context, request *tfprotov6.ConfigureProviderRequest) (*tfprotov6.ConfigureProviderResponse, error) {
	config, err := unpack(request.Config, providerSchema().ValueType())
	if err != nil {
		return nil, err
	}
	if text(config["token"]) == "wrong" {
		return &tfprotov6.ConfigureProviderResponse{Diagnostics: failed("invalid token", "", "token")}, nil
	}
	p.folder = text(config["folder"])
	if _, err := os.Stat(p.folder); err != nil {
		return &tfprotov6.ConfigureProviderResponse{Diagnostics: failed("no such folder", err.Error(), "folder")}, nil
	}
	return &tfprotov6.ConfigureProviderResponse{Diagnostics: []*tfprotov6.Diagnostic{{
		Severity: tfprotov6.DiagnosticSeverityWarning, Summary: "ktest is for tests",
	}}}, nil
}

func (p *provider) StopProvider(context.Context, *tfprotov6.StopProviderRequest) (*tfprotov6.StopProviderResponse, error) {
	return &tfprotov6.StopProviderResponse{}, nil
}

func (p *provider) ValidateResourceConfig(_ context.Context, request *tfprotov6.ValidateResourceConfigRequest) (*tfprotov6.ValidateResourceConfigResponse, error) {
	chat()
	config, err := unpack(request.Config, p.fileType())
	if err != nil {
		return nil, err
	}
	if config["name"].IsKnown() && text(config["name"]) == "" {
		return &tfprotov6.ValidateResourceConfigResponse{Diagnostics: failed("Missing name", "A file has a name.", "name")}, nil
	}
	response := &tfprotov6.ValidateResourceConfigResponse{}
	if config["description"].IsKnown() && text(config["description"]) == "draft" {
		response.Diagnostics = failed("A draft", "Describe it before it is used.", "description")
		response.Diagnostics[0].Severity = tfprotov6.DiagnosticSeverityWarning
	}
	return response, nil
}

func (p *provider) ValidateDataResourceConfig(context.Context, *tfprotov6.ValidateDataResourceConfigRequest) (*tfprotov6.ValidateDataResourceConfigResponse, error) {
	return &tfprotov6.ValidateDataResourceConfigResponse{}, nil
}

func (p *provider) ReadDataSource(_ context.Context, request *tfprotov6.ReadDataSourceRequest) (*tfprotov6.ReadDataSourceResponse, error) {
	config, err := unpack(request.Config, searchSchema().ValueType())
	if err != nil {
		return nil, err
	}
	files, err := p.all()
	if err != nil {
		return nil, err
	}
	var found []values
	for _, file := range files {
		matches := true
		for _, name := range []string{"name", "description"} {
			matches = matches && (config[name].IsNull() || text(config[name]) == text(file[name]))
		}
		if matches {
			found = append(found, file)
		}
	}
	if len(found) == 0 {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: failed("the query returned no file", "0 match")}, nil
	}
	if len(found) != 1 {
		return &tfprotov6.ReadDataSourceResponse{Diagnostics: failed("expected one file", fmt.Sprintf("%d match", len(found)))}, nil
	}
	for name := range config {
		config[name] = found[0][name]
	}
	state, err := pack(config, searchSchema().ValueType())
	return &tfprotov6.ReadDataSourceResponse{State: state}, err
}
