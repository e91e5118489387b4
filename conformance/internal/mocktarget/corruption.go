package mocktarget

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// Corruption answers for tenants whose record has no status that can be read,
// which the mock cannot be told to have: whatever would succeed fails with 500.
type Corruption struct {
	// Next is the server behind.
	Next http.Handler
	keys sync.Map
}

// Befall makes the record of the tenant with that key unreadable.
func (c *Corruption) Befall(key string) { c.keys.Store(key, true) }

func (c *Corruption) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if _, broken := c.keys.Load(r.Header.Get(suite.HeaderKey)); !broken || r.Method != http.MethodPost {
		c.Next.ServeHTTP(w, r)
		return
	}
	rec := httptest.NewRecorder()
	c.Next.ServeHTTP(rec, r)
	maps.Copy(w.Header(), rec.Header())
	if rec.Code > 299 {
		w.WriteHeader(rec.Code)
		_, _ = w.Write(rec.Body.Bytes())
		return
	}
	w.Header().Del("Content-Length")
	w.WriteHeader(http.StatusInternalServerError)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"error": "INTERNAL_ERROR", "message": "the tenant's record cannot be read",
		"request_id": rec.Header().Get("X-Request-Id"), "trace_id": rec.Header().Get(suite.HeaderTrace),
	})
}
