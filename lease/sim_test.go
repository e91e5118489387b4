package lease

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// How many seeds the simulator runs: in an ordinary test run, and with CYCLES_SOAK=1. CYCLES_SIM_SEED=n runs one seed
// alone and prints its story.
const (
	simSeeds     = 20_000
	simSoakSeeds = 1_000_000
	simShards    = 20
)

// simTally proves that the simulation reaches what it claims to test.
type simTally struct {
	attempts, successes, failures, replays, skips, late, troubles, recovered, promised int
	stops                                                                              map[StopReason]int
	servers                                                                            map[simServerKind]int
	networks                                                                           map[simNetworkKind]int
	fates                                                                              map[simFate]int
}

func newSimTally() *simTally {
	return &simTally{
		stops: map[StopReason]int{}, servers: map[simServerKind]int{}, networks: map[simNetworkKind]int{},
		fates: map[simFate]int{},
	}
}

func (y *simTally) add(o *simTally) {
	y.attempts += o.attempts
	y.successes += o.successes
	y.failures += o.failures
	y.replays += o.replays
	y.skips += o.skips
	y.late += o.late
	y.troubles += o.troubles
	y.recovered += o.recovered
	y.promised += o.promised
	addCounts(y.stops, o.stops)
	addCounts(y.servers, o.servers)
	addCounts(y.networks, o.networks)
	addCounts(y.fates, o.fates)
}

func addCounts[K comparable](into, from map[K]int) {
	for k, n := range from {
		into[k] += n
	}
}

// simulate runs one seed; a failure comes with its story.
func simulate(t *testing.T, seed uint64, seen *simTally) {
	t.Helper()
	if err := newSimRun(seed, seen).run(); err != nil {
		again := newSimRun(seed, newSimTally())
		again.story = &strings.Builder{}
		_ = again.run()
		t.Fatalf("seed %d (%v, %v, ttl %d, timeout %v): %v\n%s", seed, again.server.kind, again.net.kind, again.s.ttl,
			again.s.fixedTimeout, err, again.story)
	}
}

func TestSimulatedLeasesKeepEveryInvariant(t *testing.T) {
	if one := os.Getenv("CYCLES_SIM_SEED"); one != "" {
		seed, err := strconv.ParseUint(one, 10, 64)
		require.NoError(t, err)
		r := newSimRun(seed, newSimTally())
		r.story = &strings.Builder{}
		err = r.run()
		t.Logf("%v, %v, ttl %d, timeout %v\n%s", r.server.kind, r.net.kind, r.s.ttl, r.s.fixedTimeout, r.story)
		require.NoError(t, err)
		return
	}
	seeds := uint64(simSeeds)
	if os.Getenv("CYCLES_SOAK") == "1" {
		seeds = simSoakSeeds
	}
	all, mu := newSimTally(), sync.Mutex{}
	t.Run("seeds", func(t *testing.T) {
		for shard := range uint64(simShards) {
			t.Run(strconv.FormatUint(shard, 10), func(t *testing.T) {
				t.Parallel()
				seen := newSimTally()
				for seed := shard; seed < seeds; seed += simShards {
					simulate(t, seed, seen)
				}
				mu.Lock()
				defer mu.Unlock()
				all.add(seen)
			})
		}
	})
	if t.Failed() {
		return
	}
	t.Logf("%+v", *all)
	for _, reason := range []StopReason{
		StopExpired, StopFinalized, StopMaxExtensions, StopTenantClosed, StopRejected, StopThrottled, StopRetryWindow,
		StopZeroWindow, StopNoProgress, StopLeaseTooShort,
	} {
		assert.GreaterOrEqual(t, all.stops[reason], 10, "runs that end with %s", reason)
	}
	for kind := range simServerKinds {
		assert.Positive(t, all.servers[kind], kind)
	}
	for kind := range simNetworkKinds {
		assert.Positive(t, all.networks[kind], kind)
	}
	for fate := fateAnswered; fate <= fateRejected; fate++ {
		assert.GreaterOrEqual(t, all.fates[fate], 100, "fate %d", fate)
	}
	assert.Equal(t, seeds, uint64(total(all.servers)))
	assert.Greater(t, all.promised, int(seeds/20), "runs the promise is tried on")
	for what, n := range map[string]int{
		"attempts": all.attempts / 10, "successes": all.successes / 10, "failures": all.failures, "replays": all.replays,
		"skips": all.skips, "late arrivals": all.late * 5, "troubles": all.troubles, "recoveries": all.recovered,
	} {
		assert.Greater(t, n, 500, what)
	}
}

func total[K comparable](counts map[K]int) int {
	sum := 0
	for _, n := range counts {
		sum += n
	}
	return sum
}
