#!/usr/bin/env bash
# The site of the published evidence and of a made-up store, in headless Chromium. With SHOTS=FOLDER the screenshots are kept.
set -euo pipefail
# shellcheck disable=SC2164
for program in node sqlite3; do
  if ! command -v "$program" >/dev/null; then
    echo "SKIPPED: $program is missing; scripts/setup installs it"
    exit 0
  fi
done
browser="$(command -v chromium || command -v chromium-browser || true)"
if [[ -z "$browser" ]]; then
  echo "SKIPPED: Chromium is missing; scripts/setup --deps-only --with-tests installs it"
  exit 0
fi
capbench=$1 modules="$(dirname -- "$2")/node_modules" published=$3 bundle_of=$4
here="$(dirname -- "${BASH_SOURCE[0]}")"
work="$(mktemp -d "${TEST_TMPDIR:-/tmp}/site.XXXXXX")"
trap 'rm -rf "$work"' EXIT
export HOME="$work" XDG_CONFIG_HOME="$work/config"

"$here/fill_store.sh" "$capbench" "$published/vulkan-h200/results.db" "$work/made-up.db" 4 4 30
"$capbench" submit --db "$bundle_of" --out "$work/one.capbundle" --yes >/dev/null
"$capbench" ingest "$work/one.capbundle" --db "$work/sent.db" >/dev/null
"$capbench" site "$work/site" --db "$published/m1-ultra-2026-08/results.db" --db "$published/vulkan-h200/results.db" \
  --db "$published/vulkan-h200-factorial/results.db" --db "$work/made-up.db" --db "$work/sent.db" >/dev/null
node "$here/browser.mjs" "$modules" "$browser" "$work/site" ${SHOTS:+"$SHOTS"}
