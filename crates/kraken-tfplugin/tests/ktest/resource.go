package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

func (p *provider) UpgradeResourceState(_ context.Context, request *tfprotov6.UpgradeResourceStateRequest) (*tfprotov6.UpgradeResourceStateResponse, error) {
	if request.Version > 1 {
		return &tfprotov6.UpgradeResourceStateResponse{Diagnostics: failed("newer state", fmt.Sprintf("version %d", request.Version))}, nil
	}
	state := map[string]json.RawMessage{}
	if err := json.Unmarshal(request.RawState.JSON, &state); err != nil {
		return nil, err
	}
	if request.Version == 0 {
		state["name"] = state["title"]
		delete(state, "title")
	}
	for name := range p.fileType().AttributeTypes {
		if _, exists := state[name]; !exists {
			state[name] = json.RawMessage("null")
		}
	}
	raw, err := json.Marshal(state)
	if err != nil {
		return nil, err
	}
	value, err := tftypes.ValueFromJSON(raw, p.fileType()) //nolint:staticcheck
	if err != nil {
		return nil, err
	}
	upgraded, err := pack(object(value), p.fileType())
	return &tfprotov6.UpgradeResourceStateResponse{UpgradedState: upgraded}, err
}

// Held by a read that takes its time.
var oneRead sync.Mutex

func (p *provider) ReadResource(_ context.Context, request *tfprotov6.ReadResourceRequest) (*tfprotov6.ReadResourceResponse, error) {
	chat()
	state, err := unpack(request.CurrentState, p.fileType())
	if err != nil {
		return nil, err
	}
	if wait, err := strconv.Atoi(os.Getenv("KTEST_READ_MS")); err == nil {
		oneRead.Lock()
		time.Sleep(time.Duration(wait) * time.Millisecond)
		oneRead.Unlock()
	}
	file, err := p.read(text(state["id"]))
	if err != nil {
		return nil, err
	}
	if file != nil {
		// How changes fail is a matter of configurations, and not of files.
		for _, name := range []string{"delay_ms", "exit_after_ms", "fail"} {
			file[name] = state[name]
		}
	}
	packed, err := pack(file, p.fileType())
	return &tfprotov6.ReadResourceResponse{NewState: packed, Private: request.Private}, err
}

func (p *provider) ImportResourceState(_ context.Context, request *tfprotov6.ImportResourceStateRequest) (*tfprotov6.ImportResourceStateResponse, error) {
	state := values{}
	for name, of := range p.fileType().AttributeTypes {
		state[name] = tftypes.NewValue(of, nil)
	}
	for _, block := range []string{"rule", "disk"} {
		state[block] = tftypes.NewValue(p.fileType().AttributeTypes[block], []tftypes.Value{})
	}
	state["id"] = tftypes.NewValue(tftypes.String, request.ID)
	packed, err := pack(state, p.fileType())
	return &tfprotov6.ImportResourceStateResponse{ImportedResources: []*tfprotov6.ImportedResource{
		{TypeName: request.TypeName, State: packed, Private: []byte("imported")},
	}}, err
}

func (p *provider) PlanResourceChange(_ context.Context, request *tfprotov6.PlanResourceChangeRequest) (*tfprotov6.PlanResourceChangeResponse, error) {
	prior, err := unpack(request.PriorState, p.fileType())
	if err != nil {
		return nil, err
	}
	planned, err := unpack(request.ProposedNewState, p.fileType())
	if err != nil || planned == nil {
		return &tfprotov6.PlanResourceChangeResponse{PlannedState: request.ProposedNewState, PlannedPrivate: request.PriorPrivate}, err
	}
	unset := func(attributes values, name string, value tftypes.Value) {
		if attributes[name].IsNull() {
			attributes[name] = value
		}
	}
	config, err := unpack(request.Config, p.fileType())
	if err != nil {
		return nil, err
	}
	if size, err := strconv.Atoi(os.Getenv("KTEST_SIZE")); err == nil && config["size"].IsNull() {
		planned["size"] = tftypes.NewValue(tftypes.Number, size)
	}
	unset(planned, "size", tftypes.NewValue(tftypes.Number, 10))
	planned["password"] = tftypes.NewValue(tftypes.String, nil)
	planned["rule"] = each(planned["rule"], func(rule values) { unset(rule, "protocol", tftypes.NewValue(tftypes.String, "tcp")) })
	planned["disk"] = each(planned["disk"], func(disk values) { unset(disk, "id", unknown(tftypes.String)) })
	if endpoints, exists := planned["endpoints"]; exists {
		planned["endpoints"] = each(endpoints, func(endpoint values) { unset(endpoint, "address", unknown(tftypes.String)) })
	}
	var replace []*tftypes.AttributePath
	if prior == nil {
		planned["id"], planned["fingerprint"] = unknown(tftypes.String), unknown(tftypes.String)
		planned["revision"] = unknown(tftypes.Number)
	} else if before, after := pair(prior, planned, p.fileType()); !bytes.Equal(before, after) {
		planned["revision"] = unknown(tftypes.Number)
		if !prior["secret"].Equal(planned["secret"]) {
			planned["fingerprint"] = unknown(tftypes.String)
		}
		// As the SDK, which lists all attributes that can require it.
		if !prior["name"].Equal(planned["name"]) {
			planned["id"] = unknown(tftypes.String)
			replace = append(replace, tftypes.NewAttributePath().WithAttributeName("size"))
		}
		if replaces := os.Getenv("KTEST_REPLACES"); replaces != "" {
			replace = append(replace, tftypes.NewAttributePath().WithAttributeName(replaces))
		}
		replace = append(replace, tftypes.NewAttributePath().WithAttributeName("name"))
	}
	packed, err := pack(planned, p.fileType())
	return &tfprotov6.PlanResourceChangeResponse{PlannedState: packed, RequiresReplace: replace, PlannedPrivate: []byte("planned")}, err
}

func pair(prior, planned values, of tftypes.Type) ([]byte, []byte) {
	before, _ := pack(prior, of)
	after, _ := pack(planned, of)
	return before.MsgPack, after.MsgPack
}

func (p *provider) ApplyResourceChange(_ context.Context, request *tfprotov6.ApplyResourceChangeRequest) (*tfprotov6.ApplyResourceChangeResponse, error) {
	prior, err := unpack(request.PriorState, p.fileType())
	if err != nil {
		return nil, err
	}
	planned, err := unpack(request.PlannedState, p.fileType())
	if err != nil {
		return nil, err
	}
	faults := planned
	if planned == nil {
		faults = prior
	}
	if !faults["exit_after_ms"].IsNull() {
		time.AfterFunc(time.Duration(number(faults["exit_after_ms"]))*time.Millisecond, func() { os.Exit(3) })
	}
	fail := text(faults["fail"])
	failure := func(state values) (*tfprotov6.ApplyResourceChangeResponse, error) {
		packed, err := pack(state, p.fileType())
		return &tfprotov6.ApplyResourceChangeResponse{NewState: packed, Private: []byte("failed"), Diagnostics: failed("ktest failed", fail, "fail")}, err
	}
	delay := func() { time.Sleep(time.Duration(number(faults["delay_ms"])) * time.Millisecond) }
	if planned == nil {
		if fail == "delete" {
			return failure(prior)
		}
		if err := os.Remove(p.path(text(prior["id"]))); err != nil && !os.IsNotExist(err) {
			return nil, err
		}
		delay()
		packed, err := pack(nil, p.fileType())
		return &tfprotov6.ApplyResourceChangeResponse{NewState: packed}, err
	}
	if fail == "before" {
		return failure(nil)
	}
	p.complete(planned, prior)
	if err := p.write(planned); err != nil {
		return nil, err
	}
	delay()
	switch fail {
	case "after":
		return failure(planned)
	case "lost":
		return failure(nil)
	}
	packed, err := pack(planned, p.fileType())
	return &tfprotov6.ApplyResourceChangeResponse{NewState: packed, Private: append(request.PlannedPrivate, "-applied"...)}, err
}

// complete sets what was unknown.
func (p *provider) complete(planned, prior values) {
	random := func() tftypes.Value { return tftypes.NewValue(tftypes.String, rand.Text()[:12]) }
	set := func(attributes values, name string, value tftypes.Value) {
		if !attributes[name].IsKnown() {
			attributes[name] = value
		}
	}
	set(planned, "id", random())
	set(planned, "revision", tftypes.NewValue(tftypes.Number, number(prior["revision"])+1))
	set(planned, "fingerprint", tftypes.NewValue(tftypes.String, fmt.Sprintf("%x", sha256.Sum256([]byte(text(planned["secret"]))))))
	planned["disk"] = each(planned["disk"], func(disk values) { set(disk, "id", random()) })
	if endpoints, exists := planned["endpoints"]; exists {
		planned["endpoints"] = each(endpoints, func(endpoint values) {
			set(endpoint, "address", tftypes.NewValue(tftypes.String, "address of "+text(endpoint["host"])))
		})
	}
}
