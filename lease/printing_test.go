package lease

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestLeasesCanBePrintedWhileTheyWork(t *testing.T) {
	m := manage(t, steady(60_000))
	s := openStream(t, t.Context(), m)
	var working sync.WaitGroup
	working.Go(func() {
		for range 100 {
			assert.NoError(t, s.Add(1))
		}
		_, err := s.Commit(t.Context())
		assert.NoError(t, err)
	})
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		assert.Equal(t, "lease manager on cycles client for http://budget.test", fmt.Sprintf(verb, m))
		assert.Equal(t, `lease of reservation "rsv"`, fmt.Sprintf(verb, s.Lease()))
		assert.Equal(t, `stream of reservation "rsv"`, fmt.Sprintf(verb, s))
	}
	working.Wait()
	require.Equal(t, `lease of reservation "rsv"`, s.Lease().String(), "settled or not")
}
