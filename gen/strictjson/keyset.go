package strictjson

import "bytes"

// KeySet remembers the keys of one object. The zero value is empty. Small
// objects, which nearly all are, cost no allocation and no hashing.
type KeySet struct {
	few  [8][]byte
	n    int
	many map[string]struct{}
}

// Add reports whether key was new. The key's bytes must not change while the
// set is in use.
func (k *KeySet) Add(key []byte) bool {
	for i := range min(k.n, len(k.few)) {
		if bytes.Equal(k.few[i], key) {
			return false
		}
	}
	if k.n < len(k.few) {
		k.few[k.n] = key
		k.n++
		return true
	}
	if _, dup := k.many[string(key)]; dup {
		return false
	}
	if k.many == nil {
		k.many = make(map[string]struct{})
	}
	k.many[string(key)] = struct{}{}
	k.n++
	return true
}
