#!/bin/sh
# The reference stack's quickstart against cycles-mock: start it in the
# background, wait until it is ready, provision, reserve, commit, stop.
# It is also the pattern for using cycles-mock in CI.
#
#   quickstart.sh [path to a cycles-mock binary]
set -eu

mock=${1:-cycles-mock}
admin='X-Admin-API-Key: admin-bootstrap-key'
json='Content-Type: application/json'

out=$(mktemp)
"$mock" serve -addr 127.0.0.1:0 -log-level ERROR >"$out" &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; rm -f "$out"' EXIT

tries=0
until base=$(sed -n 's/^cycles-mock ready at //p' "$out") && [ -n "$base" ]; do
	tries=$((tries + 1))
	[ "$tries" -lt 100 ] || { echo "cycles-mock did not start" >&2; exit 1; }
	kill -0 "$pid" || exit 1
	sleep 0.1
done
curl -fsS "$base/actuator/health/readiness" >/dev/null

# member prints a string member of the JSON on its input.
member() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p"; }

curl -fsS -X POST "$base/v1/admin/tenants" -H "$admin" -H "$json" \
	-d '{"tenant_id":"acme-corp","name":"Acme Corporation"}' >/dev/null
secret=$(curl -fsS -X POST "$base/v1/admin/api-keys" -H "$admin" -H "$json" \
	-d '{"tenant_id":"acme-corp","name":"quickstart","permissions":["reservations:create","reservations:commit","reservations:release","reservations:extend","reservations:list","balances:read"]}' | member key_secret)
key="X-Cycles-API-Key: $secret"
curl -fsS -X POST "$base/v1/admin/budgets" -H "$key" -H "$json" \
	-d '{"scope":"tenant:acme-corp","unit":"USD_MICROCENTS","allocated":{"unit":"USD_MICROCENTS","amount":100000000}}' >/dev/null
reservation=$(curl -fsS -X POST "$base/v1/reservations" -H "$key" -H "$json" \
	-d '{"idempotency_key":"quickstart-1","subject":{"tenant":"acme-corp"},"action":{"kind":"llm.completion","name":"openai:gpt-4o"},"estimate":{"unit":"USD_MICROCENTS","amount":500000},"ttl_ms":30000}' | member reservation_id)
status=$(curl -fsS -X POST "$base/v1/reservations/$reservation/commit" -H "$key" -H "$json" \
	-d '{"idempotency_key":"quickstart-2","actual":{"unit":"USD_MICROCENTS","amount":350000}}' | member status)

[ "$status" = COMMITTED ] || { echo "the commit answered '$status'" >&2; exit 1; }
kill -TERM "$pid"
wait "$pid"
echo "quickstart: $reservation is $status"
