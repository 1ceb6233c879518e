// Command ktest is a provider for tests, with faults on demand. Its objects are files in the folder of its configuration, so
// that they survive it.
//
// Environment: KTEST_PROTOCOL is 5 or 6 (default). KTEST_SILENT=1 never listens. KTEST_CHATTY=1 prints much in each call.
// KTEST_READ_MS makes one read at a time, each of which takes as long.
// As other versions of the provider: KTEST_WITHOUT is a list of attributes that the type does not have, separated by commas. KTEST_SIZE is
// the size of files whose configuration has none, also of those that exist; with KTEST_REPLACES=size another size requires a new file.
package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/terraform-plugin-go/tfprotov5"
	"github.com/hashicorp/terraform-plugin-go/tfprotov5/tf5server"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6"
	"github.com/hashicorp/terraform-plugin-go/tfprotov6/tf6server"
	"github.com/hashicorp/terraform-plugin-mux/tf6to5server"
)

const name = "registry.example.com/kraken/ktest"

func main() {
	if os.Getenv("KTEST_SILENT") != "" {
		fmt.Fprintln(os.Stderr, "silent")
		time.Sleep(time.Hour)
	}
	var err error
	if os.Getenv("KTEST_PROTOCOL") == "5" {
		var server tfprotov5.ProviderServer
		server, err = tf6to5server.DowngradeServer(context.Background(), func() tfprotov6.ProviderServer {
			return &provider{protocol: 5}
		})
		if err == nil {
			err = tf5server.Serve(name, func() tfprotov5.ProviderServer { return server })
		}
	} else {
		err = tf6server.Serve(name, func() tfprotov6.ProviderServer { return &provider{protocol: 6} })
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// chat prints more than a pipe holds.
func chat() {
	if os.Getenv("KTEST_CHATTY") != "" {
		line := strings.Repeat("x", 1023) + "\n"
		for range 256 {
			fmt.Fprint(os.Stdout, line)
			fmt.Fprint(os.Stderr, line)
		}
	}
}
