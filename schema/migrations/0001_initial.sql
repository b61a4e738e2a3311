-- Format 1 of the store. schema/schema.md describes every table, view and column; keep the two together.
-- Runs inside one transaction that also sets application_id and user_version.

CREATE TABLE suite (
  id TEXT PRIMARY KEY,  -- SHA-256 of json
  name TEXT NOT NULL,
  json TEXT NOT NULL    -- canonical bytes
) STRICT;
CREATE INDEX suite_by_name ON suite (name);

CREATE TABLE environment (
  id TEXT PRIMARY KEY,         -- SHA-256 of json
  machine_id TEXT NOT NULL,    -- the physical host; shared by its guests
  machine_label TEXT NOT NULL,
  is_virtual INTEGER NOT NULL CHECK (is_virtual IN (0, 1)),
  json TEXT NOT NULL           -- every fact, canonical bytes
) STRICT;
CREATE INDEX environment_by_machine ON environment (machine_id);

CREATE TABLE artifact (
  sha256 TEXT PRIMARY KEY,
  size INTEGER NOT NULL CHECK (size >= 0),  -- bytes
  name TEXT NOT NULL                        -- the file's name when it was first seen
) STRICT;

CREATE TABLE closure (
  id TEXT PRIMARY KEY  -- SHA-256 of the sorted (role, name, sha256) list
) STRICT;

CREATE TABLE closure_member (
  closure_id TEXT NOT NULL REFERENCES closure (id),
  ordinal INTEGER NOT NULL,  -- from 0
  role TEXT NOT NULL,        -- executable library shim model driver script
  name TEXT NOT NULL,        -- file name without its folder
  sha256 TEXT NOT NULL REFERENCES artifact (sha256),
  path TEXT NOT NULL,        -- where it lay; not part of the identity
  PRIMARY KEY (closure_id, ordinal)
) STRICT;
CREATE INDEX closure_member_by_artifact ON closure_member (sha256);

CREATE TABLE run (
  id TEXT PRIMARY KEY,
  suite_id TEXT NOT NULL REFERENCES suite (id),
  machine_id TEXT NOT NULL,
  seed TEXT NOT NULL,        -- of the trials' order: unsigned 64 bit, decimal
  started_at TEXT NOT NULL,  -- UTC
  harness_version TEXT NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('running', 'complete', 'interrupted')),
  planned_trials INTEGER NOT NULL CHECK (planned_trials >= 0)
) STRICT;
CREATE INDEX run_by_suite ON run (suite_id, started_at);

-- Raw output, named by the SHA-256 of its uncompressed bytes.
CREATE TABLE blob (
  sha256 TEXT PRIMARY KEY,
  raw_size INTEGER NOT NULL CHECK (raw_size >= 0),  -- bytes, uncompressed
  zstd BLOB NOT NULL                                -- one Zstandard frame
) STRICT;

-- One process launch.
CREATE TABLE trial (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL REFERENCES run (id),
  suite_id TEXT NOT NULL REFERENCES suite (id),
  environment_id TEXT REFERENCES environment (id),
  closure_id TEXT REFERENCES closure (id),  -- NULL: it never started
  arm TEXT NOT NULL,
  mode TEXT NOT NULL,
  target TEXT NOT NULL,
  guest TEXT NOT NULL,       -- '' for the host itself
  workload TEXT NOT NULL,
  model TEXT NOT NULL,
  model_kind TEXT NOT NULL,  -- real twin
  block INTEGER NOT NULL,
  position INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('ok', 'failed', 'timeout', 'killed', 'invalid_treatment', 'no_device',
                                         'wrong_output', 'excluded', 'not_run')),
  status_before_exclusion TEXT CHECK ((status_before_exclusion IS NOT NULL) <= (status = 'excluded')),
  reason TEXT NOT NULL,
  treatment TEXT NOT NULL CHECK (treatment IN ('proven', 'unproven', 'invalid', '')),
  quality TEXT NOT NULL CHECK (quality IN ('passed', 'unchecked', 'wrong', '')),
  started_at TEXT NOT NULL,
  wall_ns INTEGER NOT NULL,
  user_ns INTEGER NOT NULL,
  system_ns INTEGER NOT NULL,
  max_rss_bytes INTEGER NOT NULL,
  exit_status INTEGER,
  signal INTEGER,
  argv TEXT NOT NULL CHECK (json_valid(argv)),
  environment_set TEXT NOT NULL CHECK (json_valid(environment_set)),
  stdout_sha256 TEXT REFERENCES blob (sha256),  -- NULL: withheld
  stderr_sha256 TEXT REFERENCES blob (sha256),
  UNIQUE (run_id, arm, workload, model, block, attempt)
) STRICT;
CREATE INDEX trial_by_suite ON trial (suite_id);
CREATE INDEX trial_by_run ON trial (run_id, position, attempt);
CREATE INDEX trial_by_environment ON trial (environment_id);
CREATE INDEX trial_by_closure ON trial (closure_id);
CREATE INDEX trial_by_stdout ON trial (stdout_sha256);
CREATE INDEX trial_by_stderr ON trial (stderr_sha256);

CREATE TABLE flag (
  trial_id TEXT NOT NULL REFERENCES trial (id),
  ordinal INTEGER NOT NULL,
  flag TEXT NOT NULL,
  PRIMARY KEY (trial_id, ordinal)
) STRICT;

-- One row that the application printed.
CREATE TABLE result (
  trial_id TEXT NOT NULL REFERENCES trial (id),
  ordinal INTEGER NOT NULL,
  test TEXT NOT NULL,
  build TEXT NOT NULL,
  n_prompt INTEGER NOT NULL,
  n_gen INTEGER NOT NULL,
  n_depth INTEGER NOT NULL,
  model_type TEXT NOT NULL,
  model_size INTEGER NOT NULL,
  model_n_params INTEGER NOT NULL,
  backends TEXT NOT NULL,
  cpu_info TEXT NOT NULL,
  gpu_info TEXT NOT NULL,
  samples_ns TEXT NOT NULL CHECK (json_valid(samples_ns)),
  median_ts REAL NOT NULL,
  fields TEXT CHECK (fields IS NULL OR json_valid(fields)),  -- NULL: not known
  PRIMARY KEY (trial_id, ordinal)
) STRICT;

CREATE TABLE capability (
  trial_id TEXT NOT NULL REFERENCES trial (id),
  ordinal INTEGER NOT NULL,
  name TEXT NOT NULL,
  requested TEXT NOT NULL,
  observed TEXT NOT NULL,
  source TEXT NOT NULL,
  agrees INTEGER NOT NULL CHECK (agrees IN (0, 1)),
  PRIMARY KEY (trial_id, ordinal)
) STRICT;
CREATE INDEX capability_by_name ON capability (name);

-- Every repetition. llama-bench's own formula: tokens per second = (n_prompt + n_gen) * 1e9 / ns.
CREATE VIEW sample AS
SELECT
  r.trial_id AS trial_id,
  r.test AS test,
  s.key AS repetition,
  s.value AS ns,
  (r.n_prompt + r.n_gen) * 1e9 / s.value AS tokens_per_second
FROM result AS r, json_each(r.samples_ns) AS s;

-- The trials that stand for their place in the plan: the last attempt at each.
CREATE VIEW latest_trial AS
SELECT t.*
FROM trial AS t
WHERE NOT EXISTS (
  SELECT 1
  FROM trial AS later
  WHERE later.run_id = t.run_id AND later.arm = t.arm AND later.workload = t.workload AND later.model = t.model
    AND later.block = t.block AND later.attempt > t.attempt
);

-- One arm's median of trial medians, over the trials whose last attempt is ok.
CREATE VIEW arm_median AS
WITH ranked AS (
  SELECT
    s.name AS suite, t.suite_id, coalesce(e.machine_id, u.machine_id) AS machine_id, r.build, t.workload, t.model,
    t.model_kind, r.test, t.guest, t.mode, t.arm, t.treatment, t.quality, e.machine_label, r.median_ts,
    json_array_length(r.samples_ns) AS n_samples, t.id AS trial_id,
    row_number() OVER arms AS place,
    count(*) OVER (PARTITION BY t.suite_id, coalesce(e.machine_id, u.machine_id), r.build, t.workload, t.model,
                   t.model_kind, r.test, t.guest, t.mode, t.arm) AS size
  FROM latest_trial AS t
  JOIN result AS r ON r.trial_id = t.id
  JOIN suite AS s ON s.id = t.suite_id
  JOIN run AS u ON u.id = t.run_id
  LEFT JOIN environment AS e ON e.id = t.environment_id
  WHERE t.status = 'ok'
  WINDOW arms AS (PARTITION BY t.suite_id, coalesce(e.machine_id, u.machine_id), r.build, t.workload, t.model,
                  t.model_kind, r.test, t.guest, t.mode, t.arm ORDER BY r.median_ts)
)
SELECT
  suite, suite_id, coalesce(max(machine_label), '') AS machine, machine_id, build, workload, model, model_kind, test,
  guest, mode, arm,
  -- The middle value, or the mean of the middle two: places (size+1)/2 and (size+2)/2, rounded down.
  avg(median_ts) FILTER (WHERE place IN ((size + 1) / 2, (size + 2) / 2)) AS median_ts,
  count(DISTINCT trial_id) AS n_trials,
  sum(n_samples) AS n_samples,
  CASE WHEN sum(treatment = 'invalid') THEN 'invalid' WHEN sum(treatment <> 'proven') THEN 'unproven'
       ELSE 'proven' END AS treatment,
  CASE WHEN sum(quality = 'wrong') THEN 'wrong' WHEN sum(quality <> 'passed') THEN 'unchecked'
       ELSE 'passed' END AS quality
FROM ranked
GROUP BY suite_id, machine_id, build, workload, model, model_kind, test, guest, mode, arm;

-- One row for each guest and each combination of a stock, an unlocked and a bare-metal arm: arms are treatments of their own
-- and never pooled. A mode that was not measured is NULL. Bare metal has no guest, so it stands beside every guest of the machine.
CREATE VIEW speedup AS
WITH arm AS MATERIALIZED (
  SELECT * FROM arm_median
),
place AS (
  SELECT DISTINCT suite, suite_id, machine_id, build, workload, model, model_kind, test, guest
  FROM arm WHERE mode IN ('stock', 'unlocked')
  UNION
  SELECT suite, suite_id, machine_id, build, workload, model, model_kind, test, ''
  FROM arm AS b
  WHERE mode = 'bare-metal' AND NOT EXISTS (
    SELECT 1 FROM arm AS g
    WHERE g.mode IN ('stock', 'unlocked') AND g.suite_id = b.suite_id AND g.machine_id = b.machine_id
      AND g.build = b.build AND g.workload = b.workload AND g.model = b.model AND g.model_kind = b.model_kind
      AND g.test = b.test
  )
)
SELECT
  p.suite, coalesce(b.machine, s.machine, u.machine) AS machine, p.build, p.workload, p.model, p.model_kind, p.test, p.guest,
  s.median_ts AS stock,
  u.median_ts AS unlocked,
  b.median_ts AS bare_metal,
  u.median_ts / s.median_ts AS ratio,
  100 * u.median_ts / b.median_ts AS percent_of_bare_metal,
  s.n_trials AS stock_trials,
  u.n_trials AS unlocked_trials,
  b.n_trials AS bare_metal_trials,
  s.arm AS stock_arm,
  u.arm AS unlocked_arm,
  b.arm AS bare_metal_arm,
  CASE WHEN 'invalid' IN (s.treatment, u.treatment, b.treatment) THEN 'invalid'
       WHEN 'unproven' IN (s.treatment, u.treatment, b.treatment) THEN 'unproven'
       ELSE 'proven' END AS treatment,
  coalesce(u.quality, 'unchecked') AS quality,
  'ratio of medians of trial medians' AS estimator,
  p.suite_id, p.machine_id
FROM place AS p
LEFT JOIN arm AS s ON s.mode = 'stock' AND s.guest = p.guest AND s.suite_id = p.suite_id AND s.machine_id = p.machine_id
  AND s.build = p.build AND s.workload = p.workload AND s.model = p.model AND s.model_kind = p.model_kind AND s.test = p.test
LEFT JOIN arm AS u ON u.mode = 'unlocked' AND u.guest = p.guest AND u.suite_id = p.suite_id AND u.machine_id = p.machine_id
  AND u.build = p.build AND u.workload = p.workload AND u.model = p.model AND u.model_kind = p.model_kind AND u.test = p.test
LEFT JOIN arm AS b ON b.mode = 'bare-metal' AND b.suite_id = p.suite_id AND b.machine_id = p.machine_id
  AND b.build = p.build AND b.workload = p.workload AND b.model = p.model AND b.model_kind = p.model_kind AND b.test = p.test;

-- The rows under llama-bench's own column names, then which trial they came from. Every attempt of every status is here.
CREATE VIEW llama_bench AS
SELECT
  r.fields ->> 'build_commit' AS build_commit,
  CAST(r.fields ->> 'build_number' AS INTEGER) AS build_number,
  r.fields ->> 'cpu_info' AS cpu_info,
  r.fields ->> 'gpu_info' AS gpu_info,
  r.fields ->> 'backends' AS backends,
  r.fields ->> 'model_filename' AS model_filename,
  r.fields ->> 'model_type' AS model_type,
  CAST(r.fields ->> 'model_size' AS INTEGER) AS model_size,
  CAST(r.fields ->> 'model_n_params' AS INTEGER) AS model_n_params,
  CAST(r.fields ->> 'n_batch' AS INTEGER) AS n_batch,
  CAST(r.fields ->> 'n_ubatch' AS INTEGER) AS n_ubatch,
  CAST(r.fields ->> 'n_threads' AS INTEGER) AS n_threads,
  r.fields ->> 'cpu_mask' AS cpu_mask,
  CAST(r.fields ->> 'cpu_strict' AS INTEGER) AS cpu_strict,
  CAST(r.fields ->> 'poll' AS INTEGER) AS poll,
  r.fields ->> 'type_k' AS type_k,
  r.fields ->> 'type_v' AS type_v,
  CAST(r.fields ->> 'n_gpu_layers' AS INTEGER) AS n_gpu_layers,
  CAST(r.fields ->> 'n_cpu_moe' AS INTEGER) AS n_cpu_moe,
  r.fields ->> 'split_mode' AS split_mode,
  CAST(r.fields ->> 'main_gpu' AS INTEGER) AS main_gpu,
  CAST(r.fields ->> 'no_kv_offload' AS INTEGER) AS no_kv_offload,
  CAST(r.fields ->> 'flash_attn' AS INTEGER) AS flash_attn,
  r.fields ->> 'devices' AS devices,
  r.fields ->> 'tensor_split' AS tensor_split,
  r.fields ->> 'tensor_buft_overrides' AS tensor_buft_overrides,
  r.fields ->> 'load_mode' AS load_mode,
  r.fields ->> 'lazy_mode' AS lazy_mode,
  CAST(r.fields ->> 'embeddings' AS INTEGER) AS embeddings,
  CAST(r.fields ->> 'no_op_offload' AS INTEGER) AS no_op_offload,
  CAST(r.fields ->> 'no_host' AS INTEGER) AS no_host,
  CAST(r.fields ->> 'fit_target' AS INTEGER) AS fit_target,
  CAST(r.fields ->> 'fit_min_ctx' AS INTEGER) AS fit_min_ctx,
  CAST(r.fields ->> 'n_prompt' AS INTEGER) AS n_prompt,
  CAST(r.fields ->> 'n_gen' AS INTEGER) AS n_gen,
  CAST(r.fields ->> 'n_depth' AS INTEGER) AS n_depth,
  r.fields ->> 'test_time' AS test_time,
  CAST(r.fields ->> 'avg_ns' AS INTEGER) AS avg_ns,
  CAST(r.fields ->> 'stddev_ns' AS INTEGER) AS stddev_ns,
  CAST(r.fields ->> 'avg_ts' AS REAL) AS avg_ts,
  CAST(r.fields ->> 'stddev_ts' AS REAL) AS stddev_ts,
  -- Printed by older builds only.
  CAST(r.fields ->> 'cuda' AS INTEGER) AS cuda,
  CAST(r.fields ->> 'opencl' AS INTEGER) AS opencl,
  CAST(r.fields ->> 'metal' AS INTEGER) AS metal,
  CAST(r.fields ->> 'vulkan' AS INTEGER) AS vulkan,
  CAST(r.fields ->> 'kompute' AS INTEGER) AS kompute,
  CAST(r.fields ->> 'sycl' AS INTEGER) AS sycl,
  r.fields ->> 'rpc' AS rpc,
  CAST(r.fields ->> 'gpu_blas' AS INTEGER) AS gpu_blas,
  CAST(r.fields ->> 'blas' AS INTEGER) AS blas,
  CAST(r.fields ->> 'f16_kv' AS INTEGER) AS f16_kv,
  CAST(r.fields ->> 'mul_mat_q' AS INTEGER) AS mul_mat_q,
  CAST(r.fields ->> 'low_vram' AS INTEGER) AS low_vram,
  CAST(r.fields ->> 'use_mmap' AS INTEGER) AS use_mmap,
  CAST(r.fields ->> 'use_direct_io' AS INTEGER) AS use_direct_io,
  CAST(r.fields ->> 'defrag_thold' AS REAL) AS defrag_thold,  r.test,
  r.samples_ns,
  r.median_ts,
  t.id AS trial_id,
  t.run_id,
  t.arm,
  t.mode,
  t.guest,
  t.workload,
  t.model,
  t.block,
  t.attempt,
  t.status
FROM result AS r
JOIN trial AS t ON t.id = r.trial_id;
