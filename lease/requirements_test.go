package lease

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// requirement is one obligation or permission of the protocol's extend and heartbeat text, in our words. Levels: MUST,
// SHOULD, MAY as the text has them; NORM for a formula it calls normative without such a word; SERVER for what it asks
// of the server, where the tests show what this client makes of it; ADVICE for its non-normative part.
type requirement struct {
	level, text string
	// proofs name tests of this package, "client:Test..." tests of the client, and "vector:..." scenarios of
	// testdata/heartbeat.json, which TestScheduleKeepsEveryScenario plays.
	proofs []string
}

const simulator = "TestSimulatedLeasesKeepEveryInvariant"

var requirements = []requirement{
	// What the server owes, and what a keeper of leases does about it.
	{"SERVER", "an extend moves expires_at_ms only", []string{"TestEveryAnswerIsScheduledFromAlone"}},
	{"SERVER", "extends may arrive concurrently: a late one of the same key moves nothing", []string{simulator}},
	{"SERVER", "an expired reservation is refused with 410", []string{"TestPermanentAnswerStopsWithItsReason"}},
	{"SERVER", "a replay answers the original expiry with the remaining time recomputed, 0 when no longer ACTIVE", []string{
		"vector:remaining_ttl_ms 0 on a replayed success", "vector:503 then success: fresh key afterwards", simulator}},
	{"SERVER", "another tenant's reservation is refused with 403", []string{"TestAnotherClientErrorStopsAtOnce"}},
	{"SERVER", "a closed tenant is refused with 409 TENANT_CLOSED", []string{
		"TestPermanentAnswerStopsWithItsReason", simulator}},
	{"SERVER", "a finalized reservation is refused with 409", []string{"TestPermanentAnswerStopsWithItsReason", simulator}},
	{"SERVER", "an unknown reservation is refused with 404", []string{"TestPermanentAnswerStopsWithItsReason"}},
	{"SERVER", "extends may be capped each, or held to a maximum lead", []string{
		"TestFirstBeatComesFromTheCreate",
		"vector:30 s timeout on a 60 s maximum lead: one immediate extend, then stop", simulator}},
	{"SERVER", "remaining_ttl_ms should be there", []string{"TestFieldAppearsInMidFlight", "TestFieldVanishesInMidFlight"}},

	// The primary path: planning.
	{"MUST", "the field is optional: without it the fallback plans", []string{
		"TestFirstBeatOfALegacyLeaseGoesAtOnce", "TestFieldVanishesInMidFlight"}},
	{"NORM", "every success plans anew from its own answer; differences of expiries are not added up", []string{
		"TestEveryAnswerIsScheduledFromAlone", "TestFieldAppearsInMidFlight"}},
	{"MUST", "sent is taken just before each attempt, received after its whole proved body, both monotonic", []string{
		"client:TestSentAndReceivedAreThoseOfTheAttemptThatAnswered", "client:TestSentAndReceivedKeepTheMonotonicReading",
		"TestManagerKeepsEveryScenario", "TestTheRealClockKeepsItsMonotonicReading", "TestTimeInTheQueueIsElapsedTime"}},
	{"NORM", "lead floor, attempt budget, safety margin, retry reserve and next delay by their formulas", []string{
		"TestWorkedExampleShowsItsFigures", "TestAttemptBudgetAndMarginHaveTheirFloors", "TestMaximumRoundTripCountsEverySuccess",
		"TestRoundTripLongerThanTheLeaseProvesNoLead", "vector:rtt spike widens the reserve for good", simulator}},
	{"MUST", "arithmetic is in milliseconds and safe from overflow; what overflows upward is infinite", []string{
		"TestArithmeticSaturatesAtEveryEdge", "FuzzArithmetic", "TestLargestRemainingDoesNotWrap",
		"TestLongestRoundTripIsInfinite",
		"TestExpiriesAtTheEndsOfTheirRangeDoNotWrap", "vector:the largest remaining_ttl_ms: no wrap-around", "FuzzSchedule"}},
	{"MUST", "budgets and margins round up, leads and delays down", []string{
		"TestRoundingNeverEatsTheReserve", "TestRecoveryWaitsTheLeastOfItsThreeBounds", "TestLeadNeverReadsAboveWhatWasProved",
		"vector:sub-millisecond rtt: leads round down, budgets round up",
		"vector:half-millisecond spikes above the timeout bound"}},
	{"NORM", "the next extend is planned from the receipt", []string{
		"TestWorkedExampleShowsItsFigures", "vector:worked example: 60 s lead, 10 s timeout, 1.5 s rtt",
		"TestManagerKeepsEveryScenario"}},
	{"NORM", "a lease that cannot hold the reserve gets delay 0; a positive delay needs more lead than the reserve", []string{
		"TestPositiveDelayNeedsMoreLeadThanTheReserve"}},
	{"SHOULD", "timeout and expected latency keep attempt_budget below half of (lead floor - margin)", []string{
		"TestFittedTimeoutKeepsASafeDelayAfterOneAnswerAsSlowAsItAllows", "TestFittedTimeoutIsAnEighthOfTheLead"}},
	{"SHOULD", "so does the enforced timeout itself where it dominates", []string{
		"TestFittedTimeoutFollowsEachSuccessAndNothingElse", simulator}},
	{"SHOULD", "default timeouts suit a server with a maximum lead", []string{
		"TestFittedTimeoutKeepsASafeDelayAfterOneAnswerAsSlowAsItAllows"}},
	{"MAY", "an additive server establishes a lead by the immediate extend", []string{
		"vector:30 s timeout on an additive server: the immediate extend establishes lead"}},
	{"MUST", "without reliable timing of the attempt, lead floor and next delay are 0", []string{
		"TestUnknownTimingProvesNoLead", "TestClockTroubleInsideAnAttemptVoidsItsTiming",
		"TestClockTroubleBetweenBeatsLetsOneExtendDecide", "vector:unknown timing of the create: one immediate extend, then the schedule runs",
		"TestASuspendInsideAnAttemptVoidsItsTiming"}},
	{"NORM", "an unknown or unbounded timeout is an infinite budget, hence delay 0", []string{
		"TestUnboundedTimeoutLeavesNoSafeDelay", "vector:unknown timeout: one immediate attempt, then stop"}},
	{"MUST", "unknown timing does not pass for no time elapsed", []string{
		"TestUnknownTimingProvesNoLead", "TestNegativeWindowStopsHoweverSmall", "TestLeadNeverReadsAboveWhatWasProved"}},
	{"NORM", "without reliable timing at most one immediate extend follows a success, then the stop", []string{
		"TestUnknownTimingProvesNoLead", "vector:unknown timing twice: stop", "TestKeepWithoutTimingSendsOneExtendAtOnce"}},
	{"MUST", "missing timing is no reason to take the fallback", []string{"TestUnknownTimingProvesNoLead"}},
	{"NORM", "the first beat comes from the create's answer like any other", []string{
		"TestFirstBeatComesFromTheCreate", "TestKeepCountsTheTimeSinceTheAnswer"}},
	{"NORM", "extend by the requested ttl", []string{"TestManagerKeepsEveryScenario"}},
	{"MUST", "a replay is scheduled from, with the round trip of the attempt that brought it", []string{
		"vector:503 then success: fresh key afterwards", "client:TestSentAndReceivedAreThoseOfTheAttemptThatAnswered", simulator}},

	// The primary path: what counts as a success.
	{"NORM", "only a schema-valid 200 is a success", []string{"client:TestAnswersToExtend"}},
	{"MUST", "another or malformed 2xx is ambiguous, and nothing is planned from older state", []string{
		"vector:ambiguous 2xx is retried with the same key", "TestRecoveryWaitsTheLeastOfItsThreeBounds",
		"client:TestAnswersToExtend"}},
	{"NORM", "the same proof counts on both paths", []string{"TestFailedBeatKeepsItsKeyAndAQuarterOfTheCadence"}},
	{"SHOULD", "a lost create is retried once, at once, with the same key, then surfaced", []string{
		"client:TestCreateRecovery", "TestAcquireSaysWhatAFailedCreateLeavesBehind"}},

	// The primary path: recovery.
	{"NORM", "the lead estimate at a failure is the last lead floor less what elapsed since that answer's receipt", []string{
		"TestRecoveryIsRecomputedFromTheLastSuccess", "TestRecoveryWaitsTheLeastOfItsThreeBounds"}},
	{"MUST", "the retry window is not clamped; a negative one allows no retry and stops", []string{
		"TestNegativeWindowStopsHoweverSmall", "vector:every attempt times out", simulator}},
	{"NORM", "a retry waits the least of 30 s, a quarter of the lead, and the window", []string{
		"TestRecoveryWaitsTheLeastOfItsThreeBounds", "vector:every attempt answers 503 after 12.5 ms", simulator}},
	{"NORM", "Retry-After plays a part for 429 only", []string{
		"TestRetryAfterOfAnotherFailurePlaysNoPart", "vector:503 with a Retry-After: the header plays no part"}},
	{"NORM", "a 429 waits exactly its Retry-After, if that fits the window", []string{
		"TestRetryAfterIsWaitedExactlyOrNotAtAll", "vector:429 with a Retry-After that fits"}},
	{"MUST", "no retry earlier than a 429 allows is invented", []string{"TestRetryAfterIsWaitedExactlyOrNotAtAll", simulator}},
	{"SHOULD", "a 429 whose wait is missing, invalid, overflown or too long stops", []string{
		"TestRetryAfterIsWaitedExactlyOrNotAtAll", "client:TestRetryAfterIsDeltaSecondsOrNothing",
		"vector:429 without Retry-After",
		"vector:429 with an HTTP-date", "vector:429 whose Retry-After exceeds the window"}},
	{"NORM", "a window of 0 means at once", []string{"TestRecoveryWaitsTheLeastOfItsThreeBounds"}},
	{"MUST", "every failed recovery recomputes lead and window from the same last success", []string{
		"TestRecoveryIsRecomputedFromTheLastSuccess", "vector:every attempt answers 503 at once"}},
	{"MAY", "recovery goes on with the same key while the window is positive", []string{
		"TestRecoveryIsRecomputedFromTheLastSuccess", "vector:every attempt answers 503 after 12.5 ms"}},
	{"MAY", "a window of 0 allows one immediate attempt", []string{"TestZeroWindowAllowsOneAttempt"}},
	{"MUST", "whose failure stops, even if a coarse clock still reads 0", []string{
		"TestZeroWindowAllowsOneAttempt", "vector:every attempt answers 503 at once"}},
	{"MUST", "two failures between which neither time nor window moved stop", []string{
		"TestNoProgressStopsAZeroTimeLoop", "vector:429 with Retry-After 0 twice in no time: no progress"}},
	{"SHOULD", "any other 4xx stops", []string{
		"TestAnotherClientErrorStopsAtOnce", "vector:other 4xx stops at once", "TestHeartbeatStopsForEachKindOfAnswer"}},
	{"MUST", "and is not repeated under another key", []string{"TestAnotherClientErrorStopsAtOnce", "TestNothingFollowsAStop"}},
	{"MUST", "there is no unbounded loop without delay", []string{
		simulator, "TestNoProgressStopsAZeroTimeLoop", "TestPersistentFailureNeitherStormsNorEndsSilently"}},
	{"MAY", "a success with delay 0 is followed by one immediate extend with a fresh key", []string{
		"TestSecondZeroDelayInARowStops"}},
	{"MUST", "a second one in a row stops", []string{
		"TestSecondZeroDelayInARowStops",
		"vector:30 s timeout on a 60 s maximum lead: one immediate extend, then stop", simulator}},

	// The fallback.
	{"ADVICE",
		"the ledger sums differences of returned expiries, starts at 0 at the create's receipt, and never overstates", []string{
			"TestLedgerStartsEmptyAndAddsWhatIsMeasured", "TestGrantThatCannotBeMeasuredIsNoGrant", simulator}},
	{"MAY", "the first extend fires at once", []string{"TestFirstBeatOfALegacyLeaseGoesAtOnce"}},
	{"ADVICE", "grants of about the ttl or of a small lease set a cadence of half the grant", []string{
		"TestCadenceFollowsTheMeasuredGrant", "vector:full grants of 60 s: beats at 30 s, every third skipped",
		"vector:15 s grants on a 60 s request: cadence tightens, survives the skip"}},
	{"ADVICE", "grants that echo the time between beats hold a fixed cadence", []string{
		"TestCadenceFollowsTheMeasuredGrant", "TestBandIsComparedOnRawTime", "vector:maximum lead 60 s: held cadence"}},
	{"ADVICE", "a beat is skipped while the ledger holds one and a half grants", []string{
		"TestBeatIsSkippedWhileTheLedgerHoldsEnough", "TestSkipNeedsAGrant"}},
	{"ADVICE", "some servers cannot be told apart, and a lease erodes on them", []string{
		"TestUndecidableServerLapses", "vector:the undecidable case: 24 s request, 10 s grants"}},
	{"SHOULD", "the fallback rather beats too often than lets a lease lapse", []string{
		"TestFailedBeatKeepsItsKeyAndAQuarterOfTheCadence", "TestFailedBeatRepeatsAtOneInstantWithoutStopping",
		"vector:first beat fails: same key after a quarter of the held cadence"}},

	// Both paths.
	{"MUST", "a retry of a failed or ambiguous attempt carries the same key", []string{
		"TestRecoveryIsRecomputedFromTheLastSuccess", "TestFailedBeatKeepsItsKeyAndAQuarterOfTheCadence",
		"TestClockTroubleInARecoveryStreakStops", "TestManagerKeepsEveryScenario", simulator}},
	{"MUST", "each further recovery on the primary path passes the window and progress guards anew", []string{
		"TestRecoveryThatComesTooLateIsDropped", "TestZeroWindowAllowsOneAttempt", simulator,
		"TestARecoveryThatWaitedTooLongForASlotIsDropped"}},
	{"SHOULD", "the five final answers about a reservation stop the heartbeat", []string{
		"TestPermanentAnswerStopsWithItsReason", "TestOnlyAnswersAboutTheReservationArePermanent",
		"vector:gone reservation stops at once", simulator, "TestHeartbeatStopsForEachKindOfAnswer"}},
}

// testsIn lists the test and fuzz functions of a directory.
func testsIn(t *testing.T, dir string) map[string]bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	require.NoError(t, err)
	require.NotEmpty(t, files, "no tests in %s", dir)
	found := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		for _, decl := range parsed.Decls {
			if f, ok := decl.(*ast.FuncDecl); ok && f.Recv == nil {
				found[f.Name.Name] = strings.HasPrefix(f.Name.Name, "Test") || strings.HasPrefix(f.Name.Name, "Fuzz")
			}
		}
	}
	return found
}

func TestEveryRequirementNamesTestsThatExist(t *testing.T) {
	known := map[string]bool{}
	for name, isTest := range testsIn(t, ".") {
		known[name] = isTest
	}
	for name, isTest := range testsIn(t, filepath.Join("..", "client")) {
		known["client:"+name] = isTest
	}
	for _, sc := range loadScenarios(t) {
		known["vector:"+sc.Name] = true
	}
	levels, texts := map[string]int{}, map[string]bool{}
	for _, r := range requirements {
		assert.NotEmpty(t, r.text)
		assert.False(t, texts[r.text], "twice: %s", r.text)
		texts[r.text] = true
		levels[r.level]++
		assert.NotEmpty(t, r.proofs, "nothing proves: %s", r.text)
		for _, proof := range r.proofs {
			assert.True(t, known[proof], "%q, named for %q, does not exist", proof, r.text)
		}
	}
	got := fmt.Sprintf("MUST %d, SHOULD %d, MAY %d", levels["MUST"], levels["SHOULD"], levels["MAY"])
	assert.Equal(t, "MUST 19, SHOULD 8, MAY 5", got, "the rows of the text's own words")
	assert.Len(t, levels, 6, "an unknown level")
}
