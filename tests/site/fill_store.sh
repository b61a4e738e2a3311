#!/usr/bin/env bash
# usage: fill_store.sh CAPBENCH SEED.db OUT.db [MACHINES MODELS BUILDS TRIALS]
#
# A store of made-up results for tests and benchmarks of the site: MACHINES x
# MODELS x BUILDS x (bare-metal, stock, unlocked) x TRIALS processes of two tests
# with ten samples each. SEED.db is a real store, imported first: its raw output
# stands behind every made-up trial. Every tenth machine becomes 12 % slower in
# mode unlocked at two thirds of the builds; half-way each machine gets another
# kernel. Rows are as wide as real ones. Deterministic.
set -euo pipefail
capbench=$1 seed=$2 out=$3
machines=${4:-4} models=${5:-2} builds=${6:-24} trials=${7:-5}

rm -f "$out" "$out-wal" "$out-shm"
"$capbench" import "$seed" --db "$out" >/dev/null
sqlite3 -bail "$out" >/dev/null <<SQL
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA cache_size = -200000;
PRAGMA temp_store = MEMORY;
CREATE TEMP TABLE size (machines INTEGER, models INTEGER, builds INTEGER, trials INTEGER);
INSERT INTO size VALUES ($machines, $models, $builds, $trials);
CREATE TEMP TABLE raw AS SELECT stdout_sha256 AS out, stderr_sha256 AS err FROM trial
  WHERE stdout_sha256 IS NOT NULL AND stderr_sha256 IS NOT NULL LIMIT 1;
CREATE TEMP TABLE shape AS SELECT fields, backends, cpu_info, gpu_info FROM result
  ORDER BY length(fields) DESC LIMIT 1;
CREATE TEMP TABLE made AS SELECT argv, closure_id FROM trial WHERE closure_id IS NOT NULL LIMIT 1;
CREATE TEMP TABLE mode (m INTEGER, name TEXT, factor REAL);
INSERT INTO mode VALUES (0, 'bare-metal', 1.0), (1, 'stock', 0.08), (2, 'unlocked', 0.985);

CREATE TEMP TABLE machine AS
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n, size WHERE i + 1 < machines)
SELECT i AS c, substr(lower(hex(sha3('machine' || i, 256))), 1, 16) AS id,
  'Made-up chip M' || (1 + i % 7) || ', ' || (8 << (i % 3)) || ' cores' AS label,
  1 + (i % 7) AS chip, 400.0 + 37 * (i % 29) AS speed
FROM n;
CREATE TEMP TABLE kernel (k INTEGER, version TEXT);
INSERT INTO kernel VALUES (0, '6.1.0'), (1, '6.12.3');
CREATE TEMP TABLE env AS
SELECT c, k, lower(hex(sha3('environment' || c || '.' || k, 256))) AS id,
  json_object('arch', 'arm64', 'cpu', 'Made-up chip M' || chip, 'gpus', json_array(json_object('name', 'Made-up GPU M' || chip)),
    'kernel', version, 'machine_id', machine.id, 'memory_bytes', 34359738368, 'os', 'Linux') AS json
FROM machine, kernel;
INSERT INTO environment (id, machine_id, machine_label, is_virtual, json)
SELECT env.id, machine.id, machine.label, 0, env.json FROM env JOIN machine USING (c);
INSERT INTO suite (id, name, json) VALUES (lower(hex(sha3('suite', 256))), 'made-up',
  '{"description":"Made-up results, to see how pages look and how long they take","name":"made-up"}');

CREATE TEMP TABLE build AS
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n, size WHERE i + 1 < builds)
SELECT i AS b, substr(lower(hex(sha3('build' || i, 256))), 1, 7) || ' (' || (5000 + 7 * i) || ')' AS name,
  strftime('%Y-%m-%dT%H:%M:%S.000Z', '2025-01-01', '+' || (i * 5) || ' days') AS day
FROM n;
INSERT INTO run (id, suite_id, machine_id, seed, started_at, harness_version, state, planned_trials)
SELECT lower(hex(sha3('run' || c || '.' || b, 256))), lower(hex(sha3('suite', 256))), machine.id, '1', day, '0.1.0',
  'complete', 3 * models * trials
FROM machine, build, size;

CREATE TEMP TABLE t AS
WITH RECURSIVE m(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM m, size WHERE i + 1 < models),
  r(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM r, size WHERE i + 1 < trials)
SELECT c, b, m.i AS model, mode.m AS m, r.i AS r, c * 1000003 + b * 7919 + m.i * 104729 + mode.m * 31 + r.i AS n,
  lower(hex(sha3('trial' || c || '.' || b || '.' || m.i || '.' || mode.m || '.' || r.i, 256))) AS id
FROM machine, build, m, mode, r;
INSERT INTO trial (id, run_id, suite_id, environment_id, closure_id, arm, mode, target, guest, workload, model, model_kind,
  block, position, attempt, status, reason, treatment, quality, started_at, wall_ns, user_ns, system_ns, max_rss_bytes,
  exit_status, argv, environment_set, stdout_sha256, stderr_sha256)
SELECT t.id, lower(hex(sha3('run' || t.c || '.' || t.b, 256))), lower(hex(sha3('suite', 256))), env.id, made.closure_id,
  mode.name, mode.name, 'local', CASE mode.m WHEN 0 THEN '' ELSE 'vm' END, 'pp512+tg128',
  CASE model WHEN 0 THEN 'tinyllama-1.1b' ELSE 'model-' || model END, 'real', r, model * 3 + mode.m, 1, 'ok', '', 'proven',
  CASE model % 2 WHEN 0 THEN 'passed' ELSE 'unchecked' END, build.day, 9000000000, 8000000000, 100000000, 900000000, 0,
  made.argv, '[]', raw.out, raw.err
FROM t JOIN mode USING (m) JOIN build USING (b) JOIN machine USING (c), size, made, raw
JOIN env ON env.c = t.c AND env.k = (t.b * 2 >= size.builds);

CREATE TEMP TABLE test (name TEXT, tokens INTEGER, gen INTEGER, speed REAL);
INSERT INTO test VALUES ('pp512', 512, 0, 9.0), ('tg128', 128, 1, 0.35);
-- Noise of about 1 % between trials and 0.3 % between samples, by two multiplicative congruences.
INSERT INTO result (trial_id, ordinal, test, build, n_prompt, n_gen, n_depth, model_type, model_size, model_n_params,
  backends, cpu_info, gpu_info, samples_ns, median_ts, fields)
SELECT id, gen, test, build, tokens * (1 - gen), tokens * gen, 0, 'made-up 1B', 670000000, 1100000000, backends, cpu_info,
  'Made-up GPU', '[' || (ns - 3 * d) || ',' || (ns + 2 * d) || ',' || (ns - 2 * d) || ',' || (ns + d) || ',' || ns || ',' ||
  ns || ',' || (ns - d) || ',' || (ns + 3 * d) || ',' || (ns + d) || ',' || (ns - d) || ']',
  tokens * 1e9 / ns, fields
FROM (
  SELECT t.id, gen, test.name AS test, build.name AS build, tokens,
    CAST(tokens * 1e9 / (machine.speed * test.speed * factor / (1 + model)
      * (1 + 0.0004 * b)
      * CASE WHEN c % 10 = 0 AND m = 2 AND b * 3 >= builds * 2 THEN 0.88 ELSE 1 END
      * (1 + 0.02 * ((n * 1103515245 + 12345) % 2147483648 / 2147483648.0
                     + (n * 22695477 + 1 + gen * 7) % 4294967296 / 4294967296.0 - 1))) AS INTEGER) AS ns,
    CAST(tokens * 1e9 / (machine.speed * test.speed * factor) * 0.001 AS INTEGER) AS d
  FROM t JOIN mode USING (m) JOIN build USING (b) JOIN machine USING (c), size, test
), shape;
INSERT INTO capability (trial_id, ordinal, name, requested, observed, source, agrees)
SELECT id, 0, 'metal.apple_family', CASE m WHEN 2 THEN '1009' ELSE '' END, CASE m WHEN 1 THEN '1005' ELSE '1009' END, 'probe', 1
FROM t;
PRAGMA journal_mode = WAL;
SQL
sqlite3 "$out" "SELECT count(*) || ' results of ' || count(DISTINCT trial_id) || ' trials' FROM result"
