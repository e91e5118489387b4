package journal

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// children are what the test binary does when it is started as another process.
// Each gets the base directory as its first argument.
var children = map[string]func(args []string) int{
	"hold": holdClaims,
}

// holdClaims takes the claim of one record and of the sweep, says so and waits
// to be killed.
func holdClaims(args []string) int {
	d, err := Open(Config{Base: args[0], Fingerprint: testFingerprint, BaseURL: testURL})
	if err == nil {
		_, err = d.Claim("rsv_1")
	}
	if err == nil {
		_, err = d.Sweep()
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("held")
	select {}
}

func startChild(t *testing.T, role string, args ...string) (*exec.Cmd, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), childRole+"="+role, "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	return cmd, bufio.NewReader(out)
}

func TestClaimsOfAnotherProcessHoldUntilItDies(t *testing.T) {
	d := openDir(t)
	put(t, d, record("rsv_1"))
	put(t, d, record("rsv_2"))
	cmd, out := startChild(t, "hold", filepath.Dir(d.Path()))
	line, err := out.ReadString('\n')
	require.NoError(t, err)
	require.Equal(t, "held\n", line)

	ids, errs := replay(t, d)
	assert.Equal(t, []string{"rsv_2"}, ids)
	assert.ErrorIs(t, errs[Name("rsv_1")], ErrClaimed)
	_, err = d.Sweep()
	assert.ErrorIs(t, err, ErrClaimed)

	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	ids, errs = replay(t, d)
	assert.ElementsMatch(t, []string{"rsv_1", "rsv_2"}, ids)
	assert.Empty(t, errs)
	s, err := d.Sweep()
	require.NoError(t, err)
	s.Close()
	assert.ElementsMatch(t, []string{Name("rsv_1"), Name("rsv_2")}, files(t, d), "a dead process leaves no claim behind for long")
}
