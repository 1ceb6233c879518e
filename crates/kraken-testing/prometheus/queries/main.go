// Queries executes PromQL: it reads expressions, alerting rules and the output of /metrics as JSON, and reports the result of each
// query, and the metrics and labels that it names.
//
// The parser, the engine and the check of rules are those of Prometheus.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sort"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/textparse"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
)

type input struct {
	// The targets of each scrape. Scrapes are one minute apart.
	Scrapes [][]target `json:"scrapes"`
	// Expressions.
	Queries []string `json:"queries"`
	// The content of a rules file: the spec of a PrometheusRule.
	Rules string `json:"rules"`
}

type target struct {
	// The labels that Prometheus adds.
	Labels map[string]string `json:"labels"`
	// The text of /metrics.
	Text string `json:"text"`
}

type selector struct {
	Metric string `json:"metric"`
	// The labels of its matchers, and their values or patterns.
	Labels map[string]string `json:"labels"`
}

type answer struct {
	Query     string     `json:"query"`
	Error     string     `json:"error,omitempty"`
	Selectors []selector `json:"selectors"`
	// The labels of its aggregations.
	Grouping []string `json:"grouping"`
	// The number of series of its result.
	Series int `json:"series"`
}

type output struct {
	// Problems of the rules file, as `promtool check rules` reports them.
	RuleProblems []string `json:"ruleProblems"`
	Answers      []answer `json:"answers"`
	// The labels of each metric.
	Metrics map[string][]string `json:"metrics"`
}

const step = time.Minute

func main() {
	if err := run(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(in io.Reader, out io.Writer) error {
	var given input
	if err := json.NewDecoder(in).Decode(&given); err != nil {
		return fmt.Errorf("cannot decode the input: %w", err)
	}
	database := &memory{}
	start := time.Unix(1_700_000_000, 0)
	result := output{Metrics: map[string][]string{}, RuleProblems: []string{}, Answers: []answer{}}
	for index, scrape := range given.Scrapes {
		for _, target := range scrape {
			at := start.Add(time.Duration(index) * step)
			if err := ingest(database, target, at, result.Metrics); err != nil {
				return fmt.Errorf("cannot read the metrics of %v: %w", target.Labels, err)
			}
		}
	}
	end := start.Add(time.Duration(len(given.Scrapes)-1) * step)
	engine := promql.NewEngine(promql.EngineOpts{MaxSamples: 1_000_000, Timeout: time.Minute, LookbackDelta: 5 * time.Minute})
	for _, query := range given.Queries {
		result.Answers = append(result.Answers, execute(engine, database, query, end))
	}
	if given.Rules != "" {
		_, problems := rulefmt.Parse([]byte(given.Rules), false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		for _, problem := range problems {
			result.RuleProblems = append(result.RuleProblems, problem.Error())
		}
	}
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(result)
}

// ingest stores one scrape of one target.
func ingest(database *memory, from target, at time.Time, metrics map[string][]string) error {
	table := labels.NewSymbolTable()
	parse, err := textparse.New([]byte(from.Text), "application/openmetrics-text; version=1.0.0", table, textparse.ParserOptions{})
	if err != nil {
		return err
	}
	for {
		entry, err := parse.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if entry != textparse.EntrySeries {
			continue
		}
		var found labels.Labels
		parse.Labels(&found)
		_, _, value := parse.Series()
		builder := labels.NewBuilder(found)
		for name, value := range from.Labels {
			builder.Set(name, value)
		}
		found = builder.Labels()
		name := found.Get(labels.MetricName)
		seen := map[string]bool{}
		for _, label := range metrics[name] {
			seen[label] = true
		}
		found.Range(func(label labels.Label) {
			if label.Name != labels.MetricName {
				seen[label.Name] = true
			}
		})
		metrics[name] = sorted(seen)
		database.add(found, at.UnixMilli(), value)
	}
}

// execute runs one query, and collects the names in it.
func execute(engine *promql.Engine, database *memory, query string, at time.Time) answer {
	found := answer{Query: query, Selectors: []selector{}, Grouping: []string{}}
	expression, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	grouping := map[string]bool{}
	parser.Inspect(expression, func(node parser.Node, _ []parser.Node) error {
		switch node := node.(type) {
		case *parser.VectorSelector:
			one := selector{Metric: node.Name, Labels: map[string]string{}}
			for _, matcher := range node.LabelMatchers {
				if matcher.Name != labels.MetricName {
					one.Labels[matcher.Name] = matcher.Value
				}
			}
			found.Selectors = append(found.Selectors, one)
		case *parser.AggregateExpr:
			for _, label := range node.Grouping {
				grouping[label] = true
			}
		}
		return nil
	})
	found.Grouping = sorted(grouping)
	prepared, err := engine.NewInstantQuery(context.Background(), database, nil, query, at)
	if err != nil {
		found.Error = err.Error()
		return found
	}
	defer prepared.Close()
	result := prepared.Exec(context.Background())
	if result.Err != nil {
		found.Error = result.Err.Error()
		return found
	}
	if vector, err := result.Vector(); err == nil {
		found.Series = len(vector)
	}
	return found
}

func sorted(set map[string]bool) []string {
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
