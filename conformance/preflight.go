package conformance

import (
	"context"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/cycles-protocol/cycles-go/conformance/internal/suite"
	"github.com/cycles-protocol/cycles-go/conformance/target"
)

// preflight asks once with each tenant's key before any check does. A server
// that cannot be reached, takes no key or is something else would turn every
// check into the same message, and some of them green by accident.
func preflight(ctx context.Context, s *session, tenants ...target.Tenant) error {
	for _, tenant := range tenants {
		if tenant.APIKey == "" {
			continue
		}
		if err := knock(ctx, s, tenant); err != nil {
			return &StartError{Doing: "asking " + s.name + " with the key of tenant " + tenant.ID, Err: err}
		}
	}
	return nil
}

// knock creates nothing: the body is valid JSON and an invalid request.
func knock(ctx context.Context, s *session, tenant target.Tenant) error {
	r := &suite.Request{
		Op: suite.Create, Method: http.MethodPost, Path: "/v1/reservations",
		Header: http.Header{"Content-Type": {"application/json"}}, RawBody: []byte("{}"),
	}
	a, err := s.do(ctx, r.As(tenant), time.Now)
	if err != nil {
		return err
	}
	media, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	switch {
	case a.Status == http.StatusUnauthorized, a.Status == http.StatusForbidden:
		return fmt.Errorf("the server refuses the key: %s", suite.Describe(a))
	case a.Status >= 300 && a.Status < 400:
		return fmt.Errorf("the server redirects to %q; use that as the base URL if it is right", a.Header.Get("Location"))
	case a.Value == nil && media != "application/json":
		return fmt.Errorf("this is no Cycles server, or another base URL is meant: POST /v1/reservations is answered %d with content type %q", a.Status, a.Header.Get("Content-Type"))
	}
	return nil
}
