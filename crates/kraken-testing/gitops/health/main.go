// Runs a health script of Argo CD on objects: the script's path is the argument, the objects are a JSON list on stdin,
// and what the script returns for each is a JSON list on stdout. Argo CD runs such scripts with the same interpreter and
// gives them the object as the global obj.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
)

type health struct {
	Status  string `json:"status"`
	Message string `json:"message"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	script, err := os.ReadFile(os.Args[1])
	if err != nil {
		return err
	}
	var objects []map[string]any
	if err := json.NewDecoder(os.Stdin).Decode(&objects); err != nil {
		return err
	}
	answers := []health{}
	for _, object := range objects {
		answer, err := of(string(script), object)
		if err != nil {
			return err
		}
		answers = append(answers, answer)
	}
	return json.NewEncoder(os.Stdout).Encode(answers)
}

func of(script string, object map[string]any) (health, error) {
	// Without the standard libraries but the basic ones, as in Argo CD.
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{"_G": lua.OpenBase, "table": lua.OpenTable, "string": lua.OpenString} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return health{}, err
		}
	}
	state.SetGlobal("obj", value(state, object))
	if err := state.DoString(script); err != nil {
		return health{}, err
	}
	table, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return health{}, fmt.Errorf("the script returned no table but %s", state.Get(-1).Type())
	}
	return health{Status: table.RawGetString("status").String(), Message: table.RawGetString("message").String()}, nil
}

func value(state *lua.LState, from any) lua.LValue {
	switch from := from.(type) {
	case bool:
		return lua.LBool(from)
	case float64:
		return lua.LNumber(from)
	case string:
		return lua.LString(from)
	case []any:
		table := state.NewTable()
		for _, item := range from {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range from {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}
