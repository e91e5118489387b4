package checks_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
)

// corruptKey is the key of a tenant whose record has no status that can be
// read, which the mock cannot be told to have.
const corruptKey = "key-of-corrupt-tenant"

// corruptible answers for that tenant as a server has to: what it would do
// otherwise fails with 500.
func corruptible(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get(suite.HeaderKey) != corruptKey || r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		rec := httptest.NewRecorder()
		next.ServeHTTP(rec, r)
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
	})
}
