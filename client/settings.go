package client

import "github.com/cycles-protocol/cycles-go/gen"

// Subject is s as createReservation, decide and createEvent send it: with the
// levels and dimensions of WithSubject where s has none. It is what a request
// that is recorded now and sent later, with WithRawBody, must carry.
func (c *Client) Subject(s gen.Subject) gen.Subject {
	return cloneSubject(withDefaults(s, c.cfg.subject))
}

// RetryPolicy is the policy with its defaults filled in, for packages that
// repeat calls by themselves.
func (c *Client) RetryPolicy() RetryPolicy { return c.cfg.retry }
