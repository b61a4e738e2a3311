#!/usr/bin/env bash
# usage: fill_store.sh CAPBENCH SEED.db OUT.db [MACHINES BUILDS WATCHED]
#
# A store of made-up results as a community's looks, for tests and benchmarks of the site. SEED.db is a real store,
# imported first: its raw output and its list of loaded files stand behind every made-up trial.
#
#   suite          machines              arms  models  trials  tests  builds
#   community      MACHINES                 3       4       5      2  every
#   depth          every third              3       1       3      2  every other
#   capabilities   every eighth            10       2       5      2  every eighth, on a guest
#   imported       every second             1       4       1      2  every, of single processes
#   nightly        4 of their own           3       2       3      2  WATCHED
#
# Machines change their system twice; a build's files differ by system. Each tenth machine of community becomes 12 %
# slower in mode unlocked at two thirds of the builds; what is measured nightly has three steps. One trial in 60 fails,
# times out, finds no device or is not what it should be; half of those are tried again. Half of the results came in
# bundles. Ten samples a result, rows as wide as real ones. Deterministic.
set -euo pipefail
capbench=$1 seed=$2 out=$3
machines=${4:-6} builds=${5:-6} watched=${6:-40}

rm -f "$out" "$out-wal" "$out-shm"
"$capbench" import "$seed" --db "$out" >/dev/null
indexes="$(sqlite3 "$out" "SELECT sql || ';' FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")"
drops="$(sqlite3 "$out" "SELECT 'DROP INDEX ' || name || ';' FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL")"
sqlite3 -bail "$out" >/dev/null <<SQL
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -400000;
PRAGMA temp_store = MEMORY;
$drops
CREATE TEMP TABLE size (machines INTEGER, builds INTEGER, watched INTEGER);
INSERT INTO size VALUES ($machines, $builds, $watched);
CREATE TEMP TABLE raw AS SELECT stdout_sha256 AS out, stderr_sha256 AS err FROM trial
  WHERE stdout_sha256 IS NOT NULL AND stderr_sha256 IS NOT NULL LIMIT 1;
-- The files of one process; its model apart.
CREATE TEMP TABLE file AS SELECT ordinal, role, name, path, sha256 FROM closure_member
  WHERE closure_id = (SELECT closure_id FROM trial WHERE closure_id IS NOT NULL LIMIT 1);
CREATE TEMP TABLE number (i INTEGER PRIMARY KEY);
INSERT INTO number
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) SELECT i FROM n;

-- kind: which suite a machine runs besides; 1 is of those that are watched.
CREATE TEMP TABLE machine AS
SELECT i AS c, substr(lower(hex(sha3('machine' || i, 256))), 1, 16) AS id, i >= machines AS nightly, 1 + i % 40 AS chip,
  'Made-up chip M' || (1 + i % 40) || ', ' || (8 << (i % 3)) || ' cores, ' || (16 << (i % 4)) || ' GiB' AS label,
  400.0 + 37 * (i % 29) AS speed
FROM number, size WHERE i < machines + 4;
CREATE TEMP TABLE env AS
SELECT c, k, g, lower(hex(sha3('environment' || c || '.' || k || '.' || g, 256))) AS id,
  json_object('arch', 'arm64', 'bios', 'Made-up ' || c, 'cpu', 'Made-up chip M' || chip, 'cpu_flags',
    'asimd fp16 dotprod i8mm bf16 sve lse rcpc aes sha1 sha2 crc32 atomics fphp asimdhp cpuid asimdrdm jscvt fcma',
    'gpus', json_array(json_object('name', 'Made-up GPU M' || chip, 'memory_bytes', 17179869184, 'driver', '550.' || k)),
    'kernel', '6.' || (1 + 5 * k) || '.' || (c % 9), 'machine_id', machine.id, 'memory_bytes', 34359738368,
    'hypervisor', iif(g, 'made-up', ''), 'os', 'Linux', 'os_release', 'Made-up Linux ' || (12 + k), 'vulkan_devices',
    json_array(json_object('name', 'Made-up GPU M' || chip, 'extensions', 'VK_KHR_cooperative_matrix VK_KHR_16bit_storage'))) AS json
FROM machine JOIN (SELECT i AS k FROM number WHERE i < 3) JOIN (SELECT i AS g FROM number WHERE i < 2);
INSERT INTO environment (id, machine_id, machine_label, is_virtual, json)
SELECT env.id, machine.id, machine.label, 0, env.json FROM env JOIN machine USING (c);

CREATE TEMP TABLE suite_of (s INTEGER, name TEXT, arms INTEGER, models INTEGER, trials INTEGER, workload TEXT, step INTEGER);
INSERT INTO suite_of VALUES (0, 'community', 3, 4, 5, 'pp512+tg128', 1), (1, 'depth', 3, 1, 3, 'pp512+tg128 @ d4096', 2),
  (2, 'capabilities', 10, 2, 5, 'pp512+tg128', 8), (3, 'imported', 1, 4, 1, 'pp512+tg128', 1),
  (4, 'nightly', 3, 2, 3, 'pp512+tg128', 1);
INSERT INTO suite (id, name, json) SELECT lower(hex(sha3('suite' || s, 256))), name,
  coalesce(iif(s = 2, (SELECT json_set(json, '$.name', 'capabilities') FROM suite WHERE json LIKE '%full-factorial%' LIMIT 1), NULL),
    json_object('description', 'Made-up results, to see how pages look and how long they take', 'name', name)) FROM suite_of;
CREATE TEMP TABLE arm (m INTEGER, mode TEXT, name TEXT, factor REAL, g INTEGER);
INSERT INTO arm VALUES (0, 'bare-metal', 'bare-metal', 1.0, 0), (1, 'stock', 'stock', 0.12, 1), (2, 'unlocked', 'unlocked', 0.985, 1),
  (3, 'ablation', 'without cooperative_matrix', 0.6, 1), (4, 'ablation', 'without cooperative_matrix2', 0.95, 1),
  (5, 'ablation', 'without integer_dot_product', 0.98, 1), (6, 'ablation', 'without shader_float16', 0.4, 1),
  (7, 'ablation', 'only cooperative_matrix', 0.5, 1), (8, 'ablation', 'only shader_float16', 0.2, 1), (9, 'placebo', 'placebo', 0.12, 1);
CREATE TEMP TABLE build AS
SELECT i AS b, substr(lower(hex(sha3('build' || i, 256))), 1, 7) || ' (' || (5000 + 7 * i) || ')' AS name,
  strftime('%Y-%m-%dT%H:%M:%S.000Z', '2025-01-01', '+' || (i * 19) || ' hours') AS day
FROM number, size WHERE i < max(builds, watched);

-- One run of each suite, machine and build. Those of the community are spread over the builds that are watched.
CREATE TEMP TABLE ran AS
SELECT c, s, i AS round, iif(nightly, i, i * max(1, size.watched / size.builds)) AS b,
  lower(hex(sha3('run' || c || '.' || s || '.' || i, 256))) AS id,
  (i * 3) / iif(nightly, size.watched, size.builds) AS k
FROM machine, suite_of, size JOIN number ON i < iif(nightly, size.watched, size.builds) AND i % step = 0
WHERE iif(s = 4, nightly, NOT nightly) AND CASE s WHEN 1 THEN c % 3 = 0 WHEN 2 THEN c % 8 = 0 WHEN 3 THEN c % 2 = 0 ELSE 1 END;
INSERT INTO run (id, suite_id, machine_id, seed, started_at, harness_version, state, planned_trials)
SELECT ran.id, lower(hex(sha3('suite' || s, 256))), machine.id, '1', day, '0.1.0', 'complete', arms * models * trials
FROM ran JOIN machine USING (c) JOIN build USING (b) JOIN suite_of USING (s);

-- What was loaded: the build's own files by kind of chip, the system's by environment, the model, a shim in unlocked.
CREATE TEMP TABLE loaded AS
SELECT DISTINCT ran.c, ran.b, ran.k, g, shim, model.i AS model,
  lower(hex(sha3('closure' || ran.c || '.' || ran.b || '.' || ran.k || '.' || g || '.' || shim || '.' || model.i, 256))) AS id
FROM ran JOIN suite_of USING (s) JOIN (SELECT 0 AS g, 0 AS shim UNION ALL SELECT 1, 0 UNION ALL SELECT 1, 1)
JOIN number AS model ON model.i < suite_of.models
WHERE s <> 3;
INSERT INTO closure (id) SELECT id FROM loaded;
CREATE TEMP TABLE member AS
SELECT loaded.id AS closure_id, ordinal, role, name, path, lower(hex(sha3(CASE
    WHEN role = 'model' THEN 'model' || model
    WHEN role = 'executable' OR name LIKE 'libggml%' OR name LIKE 'libllama%' THEN name || b || '.' || (c % 4)
    ELSE name || c || '.' || k || '.' || g END, 256))) AS sha256
FROM loaded, file WHERE role <> 'shim'
UNION ALL
SELECT id, 1000, 'shim', 'libcapshim.so', '/opt/capbench/shim/libcapshim.so', lower(hex(sha3('shim', 256))) FROM loaded WHERE shim;
INSERT OR IGNORE INTO artifact (sha256, size, name) SELECT sha256, 1000000, name FROM member GROUP BY sha256;
INSERT INTO closure_member (closure_id, ordinal, role, name, sha256, path)
SELECT closure_id, ordinal, role, name, sha256, path FROM member;
DROP TABLE member;

-- status: 0 ok; one trial in 60 is something else, and every other of these is tried again.
CREATE TEMP TABLE t AS
SELECT ran.c, ran.b, ran.k, ran.s, ran.id AS run, model.i AS model, m, r.i AS r, attempt.i AS attempt, arm.g AS g,
  ran.c * 1000003 + ran.b * 7919 + model.i * 104729 + m * 31 + r.i * 7 + ran.s AS n, 0 AS bad, '' AS id
FROM ran JOIN suite_of USING (s) JOIN number AS model ON model.i < models JOIN arm ON m < arms JOIN number AS r ON r.i < trials
JOIN (SELECT 1 AS i UNION ALL SELECT 2) AS attempt;
UPDATE t SET bad = iif(attempt = 1 AND (n * 7 + m) % 61 = 0, 1 + n % 4, 0);
DELETE FROM t WHERE attempt = 2 AND NOT ((n * 7 + m) % 61 = 0 AND n % 2 = 0);
UPDATE t SET id = lower(hex(sha3('trial' || c || '.' || b || '.' || s || '.' || model || '.' || m || '.' || r || '.' || attempt, 256)));
INSERT INTO trial (id, run_id, suite_id, environment_id, closure_id, arm, mode, target, guest, workload, model, model_kind,
  block, position, attempt, status, reason, treatment, quality, started_at, wall_ns, user_ns, system_ns, max_rss_bytes,
  exit_status, argv, environment_set, stdout_sha256, stderr_sha256, hygiene)
SELECT t.id, t.run, lower(hex(sha3('suite' || t.s, 256))), env.id, loaded.id,
  arm.name, arm.mode, 'local', iif(arm.g, 'vm', ''), suite_of.workload,
  CASE t.model WHEN 0 THEN 'tinyllama-1.1b' WHEN 1 THEN 'llama-3-8b' WHEN 2 THEN 'qwen3-4b' ELSE 'gemma-3-12b' END, 'real', r,
  (r * models + t.model) * arms + t.m, attempt,
  CASE bad WHEN 0 THEN 'ok' WHEN 1 THEN 'failed' WHEN 2 THEN 'timeout' WHEN 3 THEN 'no_device' ELSE 'invalid_treatment' END,
  CASE bad WHEN 0 THEN '' WHEN 1 THEN 'llama-bench exited 1: error: unable to allocate Metal buffer'
    WHEN 2 THEN 'ran longer than its limit of 300 s' WHEN 3 THEN 'no GPU was named in its output: it ran on the processor'
    ELSE 'metal.apple_family: 1009 was asked for, 1005 observed' END,
  CASE WHEN t.s = 3 THEN '' WHEN bad = 4 THEN 'invalid' ELSE 'proven' END, CASE t.model % 2 WHEN 0 THEN 'passed' ELSE 'unchecked' END,
  strftime('%Y-%m-%dT%H:%M:%S.000Z', build.day, '+' || ((r * models + t.model) * arms + t.m) || ' minutes'), 9000000000, 8000000000,
  100000000, 900000000, iif(bad = 1, 1, 0),
  json_array('/opt/llama/' || (5000 + 7 * t.b) || '/llama-bench', '-m', '/srv/models/model-' || t.model || '.gguf', '-p', '512', '-n',
    '128', '-d', iif(t.s = 1, '4096', '0'), '-r', '10', '-ngl', '99', '-dev', 'Metal', '-o', 'jsonl'),
  iif(t.m < 2, '[]', json_array('CAPSHIM_SET=' || arm.name, 'DYLD_INSERT_LIBRARIES=/opt/capbench/shim/libcapshim.so')),
  iif(t.s = 3, NULL, raw.out), iif(t.s = 3, NULL, raw.err),
  '{"after":{"cpu_busy_ticks":75889,"cpu_total_ticks":390138,"gpu_processes":0,"load":0.39,"memory_free_percent":99.5},"before":{"cpu_busy_ticks":73333,"cpu_total_ticks":365664,"gpu_processes":0,"load":0.07,"memory_free_percent":99.5}}'
FROM t JOIN arm USING (m) JOIN suite_of USING (s) JOIN build USING (b) JOIN raw
JOIN env ON env.c = t.c AND env.k = t.k AND env.g = t.g
LEFT JOIN loaded ON t.s <> 3 AND loaded.c = t.c AND loaded.b = t.b AND loaded.k = t.k AND loaded.g = t.g AND loaded.shim = (t.m > 1)
  AND loaded.model = t.model;

-- What a process prints before it measures, once for each machine, build and model.
CREATE TEMP TABLE said AS SELECT DISTINCT c, b, model FROM t WHERE bad = 0;
INSERT INTO printed_settings (id, fields)
SELECT (SELECT coalesce(max(id), 0) FROM printed_settings) + row_number() OVER (ORDER BY c, b, model), json_object('build_commit', substr(build.name, 1, 7),
  'build_number', 5000 + 7 * b, 'cpu_info', 'Made-up chip M' || chip, 'gpu_info', 'Made-up GPU M' || chip, 'backends', 'MTL,BLAS',
  'model_filename', '/srv/models/model-' || model || '.gguf', 'model_type', 'made-up 1B Q4_0', 'model_size', 670000000,
  'model_n_params', 1100000000, 'n_batch', 2048, 'n_ubatch', 512, 'n_threads', 8 + c, 'cpu_mask', '0x0', 'cpu_strict', json('false'),
  'poll', 50, 'type_k', 'f16', 'type_v', 'f16', 'n_gpu_layers', 99, 'n_cpu_moe', 0, 'split_mode', 'layer', 'main_gpu', 0,
  'no_kv_offload', json('false'), 'flash_attn', -1, 'devices', 'auto', 'tensor_split', '0.00', 'tensor_buft_overrides', 'none',
  'embeddings', json('false'), 'no_op_offload', 0, 'no_host', json('false'), 'fit_target', 0, 'fit_min_ctx', 0)
FROM said JOIN build USING (b) JOIN machine USING (c);
CREATE TEMP TABLE printed AS SELECT c, b, model, (SELECT max(id) FROM printed_settings) - (SELECT count(*) FROM said)
  + row_number() OVER (ORDER BY c, b, model) AS id FROM said;
CREATE UNIQUE INDEX temp.printed_by ON printed (c, b, model);

CREATE TEMP TABLE test (gen INTEGER, name TEXT, tokens INTEGER, speed REAL);
INSERT INTO test VALUES (0, 'pp512', 512, 9.0), (1, 'tg128', 128, 0.35);
-- Noise of about 1 % between trials and 0.3 % between samples, by multiplicative congruences.
INSERT INTO result (trial_id, ordinal, test, build, n_prompt, n_gen, n_depth, model_type, model_size, model_n_params,
  backends, cpu_info, gpu_info, samples_ns, median_ts, fields, settings_id)
SELECT id, gen, test, build, tokens * (1 - gen), tokens * gen, depth, 'made-up 1B Q4_0', 670000000, 1100000000, 'MTL,BLAS',
  'Made-up chip M' || chip, 'Made-up GPU M' || chip, samples, tokens * 1e9 / ns,
  printf('{"n_prompt":%d,"n_gen":%d,"n_depth":%d,"test_time":"%s","avg_ns":%d,"stddev_ns":%d,"avg_ts":%.6f,"stddev_ts":%.6f,"samples_ns":%s,"samples_ts":[%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f,%.2f]}',
    tokens * (1 - gen), tokens * gen, depth, day, ns, d * 2, ts, ts * 0.002, samples, ts, ts, ts, ts, ts, ts, ts, ts, ts, ts),
  settings
FROM (
  SELECT *, '[' || (ns - 3 * d) || ',' || (ns + 2 * d) || ',' || (ns - 2 * d) || ',' || (ns + d) || ',' || ns || ',' || ns || ',' ||
    (ns - d) || ',' || (ns + 3 * d) || ',' || (ns + d) || ',' || (ns - d) || ']' AS samples, tokens * 1e9 / ns AS ts
  FROM (
    SELECT t.id, gen, test.name || iif(t.s = 1, ' @ d4096', '') AS test, build.name AS build, build.day AS day, tokens, machine.chip AS chip,
      iif(t.s = 1, 4096, 0) AS depth, printed.id AS settings,
      CAST(tokens * 1e9 / (machine.speed * test.speed * factor / (1 + t.model)
        * (1 + 0.0004 * t.b / (1 + size.watched / 100))
        * CASE WHEN t.s = 0 AND t.c % 10 = 0 AND t.m = 2 AND t.b * 3 >= size.watched * 2 THEN 0.88 ELSE 1 END
        * CASE WHEN t.s = 4 AND t.b * 4 >= size.watched * 3 THEN 1.10 WHEN t.s = 4 AND t.b * 2 >= size.watched THEN 0.93
               WHEN t.s = 4 AND t.b * 4 >= size.watched THEN 1.05 ELSE 1 END
        * (1 + 0.02 * ((n * 1103515245 + 12345) % 2147483648 / 2147483648.0
                       + (n * 22695477 + 1 + gen * 7) % 4294967296 / 4294967296.0 - 1))) AS INTEGER) AS ns,
      CAST(tokens * 1e9 / (machine.speed * test.speed * factor) * 0.001 AS INTEGER) AS d
    FROM t JOIN arm USING (m) JOIN build USING (b) JOIN machine USING (c) JOIN printed ON printed.c = t.c AND printed.b = t.b AND printed.model = t.model, size, test
    WHERE t.bad = 0
  )
);
INSERT INTO capability (trial_id, ordinal, name, requested, observed, source, agrees)
SELECT id, 0, 'metal.apple_family', CASE m WHEN 2 THEN '1009' ELSE '' END, CASE m WHEN 1 THEN '1005' ELSE '1009' END, 'probe', 1
FROM t WHERE s <> 3;

-- Each other machine sent what it has, a bundle for each run.
INSERT INTO bundle (id, archive_sha256, size, signer, tier, verdict, received_at, receipt_sha256, why, archive)
SELECT lower(hex(sha3('bundle' || ran.id, 256))), lower(hex(sha3('archive' || ran.id, 256))), 40000 + c,
  iif(c % 4 = 0, 'SHA256:' || substr(hex(sha3('key' || c, 256)), 1, 43), ''), iif(c % 8 = 0, 'self-reported', 'consistent'),
  '{"checks":[{"name":"numbers","outcome":"passed","detail":"every median follows from the raw output"}]}', day, '', '', x'00'
FROM ran JOIN build USING (b) WHERE c % 2 = 0 AND s <> 3;
INSERT INTO bundle_trial (bundle_id, trial_id)
SELECT lower(hex(sha3('bundle' || run, 256))), id FROM t WHERE c % 2 = 0 AND s <> 3;
$indexes
ANALYZE;
PRAGMA journal_mode = WAL;
SQL
sqlite3 "$out" "SELECT count(*) || ' results of ' || count(DISTINCT trial_id) || ' trials' FROM result"
