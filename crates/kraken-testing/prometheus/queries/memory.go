package main

import (
	"context"
	"sort"

	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/tsdb/chunkenc"
	"github.com/prometheus/prometheus/tsdb/chunks"
	"github.com/prometheus/prometheus/util/annotations"
)

// memory holds samples for the engine. Prometheus' own database would add the SDKs of every cloud to the build.
type memory struct {
	series []*series
}

type series struct {
	labels  labels.Labels
	samples []chunks.Sample
}

type sample struct {
	time  int64
	value float64
}

func (s sample) ST() int64                     { return 0 }
func (s sample) T() int64                      { return s.time }
func (s sample) F() float64                    { return s.value }
func (s sample) H() *histogram.Histogram       { return nil }
func (s sample) FH() *histogram.FloatHistogram { return nil }
func (s sample) Type() chunkenc.ValueType      { return chunkenc.ValFloat }
func (s sample) Copy() chunks.Sample           { return s }

func (m *memory) add(of labels.Labels, time int64, value float64) {
	for _, one := range m.series {
		if labels.Equal(one.labels, of) {
			one.samples = append(one.samples, sample{time, value})
			return
		}
	}
	m.series = append(m.series, &series{of, []chunks.Sample{sample{time, value}}})
}

func (m *memory) Querier(_, _ int64) (storage.Querier, error) { return querier{m}, nil }

type querier struct{ memory *memory }

func (q querier) Select(_ context.Context, _ bool, _ *storage.SelectHints, matchers ...*labels.Matcher) storage.SeriesSet {
	found := &set{at: -1}
	for _, one := range q.memory.series {
		if matches(one.labels, matchers) {
			found.series = append(found.series, storage.NewListSeries(one.labels, one.samples))
		}
	}
	sort.Slice(found.series, func(i, j int) bool {
		return labels.Compare(found.series[i].Labels(), found.series[j].Labels()) < 0
	})
	return found
}

func (querier) LabelValues(context.Context, string, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) LabelNames(context.Context, *storage.LabelHints, ...*labels.Matcher) ([]string, annotations.Annotations, error) {
	return nil, nil, nil
}

func (querier) Close() error { return nil }

func matches(of labels.Labels, matchers []*labels.Matcher) bool {
	for _, matcher := range matchers {
		if !matcher.Matches(of.Get(matcher.Name)) {
			return false
		}
	}
	return true
}

type set struct {
	series []storage.Series
	at     int
}

func (s *set) Next() bool                      { s.at++; return s.at < len(s.series) }
func (s *set) At() storage.Series              { return s.series[s.at] }
func (*set) Err() error                        { return nil }
func (*set) Warnings() annotations.Annotations { return nil }
