package journal

import (
	"encoding/json"
	"fmt"
	"os"
)

// One process writes what it spent before it tells the server, and dies; another
// one finds it.
func ExampleDir() {
	base, _ := os.MkdirTemp("", "journal")
	defer os.RemoveAll(base)
	d, _ := Open(Config{Base: base, Fingerprint: "4eb53c28893cdf51", BaseURL: "http://localhost:7878"})

	claim, _ := d.Claim("rsv_1")
	err := claim.Put(Record{
		ReservationID: "rsv_1", BaseURL: d.BaseURL(), Mode: Commit,
		CommitBody: json.RawMessage(`{"idempotency_key":"k","actual":{"unit":"TOKENS","amount":42}}`),
	})
	fmt.Println("durable:", err == nil)
	claim.Release()

	names, _ := d.Names()
	claim, record, _ := d.Take(names[0])
	fmt.Println(record.ReservationID, record.Mode, string(record.Body()))
	_ = claim.Discard()
	claim.Release()
	// Output:
	// durable: true
	// rsv_1 commit {"idempotency_key":"k","actual":{"unit":"TOKENS","amount":42}}
}
