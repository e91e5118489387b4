package settlement

import (
	"context"
	"log/slog"
	"sync"
)

// trouble is what is wrong with the journal. It reports a state when it begins
// and not each time it is met: a full disk would otherwise fill the log as well.
type trouble struct {
	logger *slog.Logger

	mu   sync.Mutex
	last error
	said map[string]bool
}

// failed keeps the last failure.
func (t *trouble) failed(err error) {
	t.mu.Lock()
	begins := t.last == nil
	t.last = err
	t.mu.Unlock()
	if begins {
		t.warn("cycles: the settlement journal does not work", slog.Any("error", err))
	}
}

// works forgets the last failure.
func (t *trouble) works() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = nil
}

func (t *trouble) current() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.last
}

// found reports what is wrong with one file, once.
func (t *trouble) found(name string, err error) {
	const most = 10_000
	t.mu.Lock()
	known := t.said[name]
	if t.said == nil || len(t.said) >= most {
		t.said = map[string]bool{}
	}
	t.said[name] = true
	t.mu.Unlock()
	if !known {
		t.warn("cycles: a file in the settlement journal is passed over", slog.Any("error", err))
	}
}

func (t *trouble) warn(text string, attrs ...slog.Attr) {
	t.logger.LogAttrs(context.Background(), slog.LevelWarn, text, attrs...)
}
