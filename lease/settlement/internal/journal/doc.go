// Package journal keeps on disk what was spent and is not yet in the ledger, in
// the format that the SDKs of all languages share: a record that one of them
// wrote is settled by any other.
//
// One directory belongs to one identity (server and tenant), holds one file per
// reservation, and is safe for any number of processes:
//
//	<base>/<fingerprint>/v2-<sha256 of the reservation id>.json   a record
//	                     v2-<...>.json.<pid>.<random>.tmp         being written
//	                     v2-<...>.claim                           locked: being settled by a process of this package
//	                     v2-<...>.corrupt                         was no valid record
//	                     v2-<...>.dead                            will never be settled by itself
//	                     sweep.claim                              locked: one process replays what others left
//
// Only names that end in .json mean anything to the other SDKs.
//
// What it promises: a record that Put returned without an error survives a
// crash and a loss of power; a file is complete or absent; nobody else on the
// machine can read it; no file that cannot be read, understood or moved keeps
// the others from being settled; what is not this identity's is not touched.
//
// What it does not promise: exclusion of the other SDKs, which know nothing of
// claims. A record that they and this package send at once carries the same key
// and the same body, so the server takes it once.
//
// A claim is a lock of the operating system and not a file that exists: it ends
// with its process, however that ends. Where there is no such lock (see
// lock_other.go) every claim is granted, for the same reason as above.
package journal
