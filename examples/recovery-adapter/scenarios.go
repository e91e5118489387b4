package main

const module = "github.com/cycles-protocol/cycles-go/"

// nativeTest is a top-level test function.
type nativeTest struct{ pkg, name string }

// String names the test by its package within the module.
func (t nativeTest) String() string { return t.pkg + "." + t.name }

func (t nativeTest) importPath() string { return module + t.pkg }

// The packages that hold them.
const (
	leases     = "lease"
	settlement = "lease/settlement"
	journal    = "lease/settlement/internal/journal"
)

// scenarios names, for each scenario of the recovery profile, the tests that set
// it up against a server and look at the ledger afterwards.
var scenarios = map[string][]nativeTest{
	// A lost commit response is answered by the same key.
	"CR-CORE-001": {
		{settlement, "TestLostCommitResponseIsSentAgainWithTheSameKeyAndBytes"},
	},
	// An expired commit becomes an event with the same key.
	"CR-CORE-002": {
		{settlement, "TestExpiredReservationIsSettledByAnEventWithTheSameKey"},
	},
	// A heartbeat that fails in transport is reported, and the work goes on.
	"CR-CORE-003": {
		{leases, "TestHeartbeatTransportFailureIsReportedAndTheWorkGoesOn"},
	},
	// A 2xx that breaks the protocol stays ambiguous.
	"CR-CORE-004": {
		{settlement, "TestInvalidSuccessStaysAmbiguous"},
		{settlement, "TestAnswersToACommit"},
		{settlement, "TestAnswersToAnEvent"},
	},
	// The record exists before the first request leaves, and survives SIGKILL.
	"CR-DURABLE-001": {
		{settlement, "TestRecordIsOnDiskBeforeTheFirstRequestLeaves"},
		{settlement, "TestSpendsSurviveSIGKILLAtAnyPoint"},
		{journal, "TestRecordIsDurableBeforePutReturns"},
	},
	// The switch to an event is on disk before the event leaves.
	"CR-DURABLE-002": {
		{settlement, "TestModeSwitchIsOnDiskBeforeTheEventIsSent"},
		{settlement, "TestEventThatWasBegunIsGoneOnWithAfterARestart"},
	},
	// A rate limit's floor survives a restart.
	"CR-DURABLE-003": {
		{settlement, "TestFloorIsWrittenToDiskWithTheAnswer"},
		{settlement, "TestFloorSurvivesARestart"},
	},
	// A tenant's journal survives the rotation of its key and stores none.
	"CR-DURABLE-004": {
		{settlement, "TestJournalOfATenantSurvivesKeyRotationAndStoresNoKey"},
		{settlement, "TestKnownFingerprints"},
	},
	// Corrupt and unsupported records are quarantined and reported while others
	// are replayed.
	"CR-DURABLE-005": {
		{settlement, "TestBadRecordsAreQuarantinedAndReportedWhileTheOthersAreSettled"},
		{journal, "TestBadFilesAreQuarantinedAndTheOthersReplayed"},
	},
	// Two workers replay one record exactly once.
	"CR-DURABLE-006": {
		{settlement, "TestTwoSettlersOnOneJournalSettleEachRecordOnce"},
		{settlement, "TestTwoProcessesOnOneJournalSendEachRecordOnce"},
	},
	// File names never collide, and legacy files migrate safely.
	"CR-DURABLE-007": {
		{journal, "TestNamesThatOtherSDKsGive"},
		{journal, "TestDiscardRemovesALegacyFileOnlyOfTheSameReservation"},
		{journal, "TestLegacyFileGetsItsStandardName"},
		{journal, "TestLegacyDuplicateIsRemovedAndReplayedOnce"},
		{journal, "TestLegacyFileWhoseStandardNameHoldsAnotherReservationIsStillReplayed"},
		{settlement, "TestLegacyRecordIsSettledOnceAndItsFileGoes"},
	},
	// Without a known actual nothing is sent.
	"CR-BOUNDARY-001": {
		{leases, "TestWorkWithoutAKnownActualSettlesNothing"},
		{settlement, "TestWithoutAKnownActualNothingIsSent"},
	},
}
