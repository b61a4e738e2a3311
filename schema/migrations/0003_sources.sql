-- Results that others measured, what a guest was made from, how the machine was, and whether the output was right.

-- A file that results were imported from.
CREATE TABLE source (
  sha256 TEXT PRIMARY KEY,  -- of the whole file
  kind TEXT NOT NULL,       -- llama-bench-json llama-bench-csv ... mlx-lm localscore
  name TEXT NOT NULL,       -- the file's name without its folder
  size INTEGER NOT NULL CHECK (size >= 0),              -- bytes
  notes TEXT NOT NULL CHECK (json_valid(notes))         -- sentences about it, a list
) STRICT;

-- Its bytes, in order. None: they are withheld.
CREATE TABLE source_part (
  source_sha256 TEXT NOT NULL REFERENCES source (sha256),
  ordinal INTEGER NOT NULL,
  raw_size INTEGER NOT NULL CHECK (raw_size >= 0),  -- bytes, uncompressed
  zstd BLOB NOT NULL,                               -- one Zstandard frame
  PRIMARY KEY (source_sha256, ordinal)
) STRICT;

-- Rows that could not be trusted.
CREATE TABLE quarantine (
  source_sha256 TEXT NOT NULL REFERENCES source (sha256),
  ordinal INTEGER NOT NULL,
  line INTEGER NOT NULL,  -- from 1
  reason TEXT NOT NULL,
  text TEXT NOT NULL,     -- the row, cut if it is long
  PRIMARY KEY (source_sha256, ordinal)
) STRICT;

ALTER TABLE trial ADD COLUMN source_sha256 TEXT REFERENCES source (sha256);  -- NULL: measured by capbench itself
ALTER TABLE trial ADD COLUMN image TEXT CHECK (image IS NULL OR json_valid(image));
ALTER TABLE trial ADD COLUMN hygiene TEXT CHECK (hygiene IS NULL OR json_valid(hygiene));
ALTER TABLE trial ADD COLUMN measured TEXT CHECK (measured IS NULL OR json_valid(measured));
CREATE INDEX trial_by_source ON trial (source_sha256) WHERE source_sha256 IS NOT NULL;

-- A row whose source gives a mean and no samples. It has no median, so it is no `result`.
CREATE TABLE stated_result (
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
  mean_ts REAL NOT NULL,
  stddev_ts REAL,       -- NULL: not stated, or of a single repetition
  repetitions INTEGER,  -- NULL: not stated
  fields TEXT CHECK (fields IS NULL OR json_valid(fields)),
  PRIMARY KEY (trial_id, ordinal)
) STRICT;

-- Whether an arm's output was right, asked once per run, arm and model.
CREATE TABLE quality_check (
  run_id TEXT NOT NULL REFERENCES run (id),
  arm TEXT NOT NULL,
  model TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind IN ('output', 'operators')),
  attempt INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('passed', 'wrong', 'unchecked')),
  reason TEXT NOT NULL,
  figures TEXT NOT NULL CHECK (json_valid(figures)),
  argv TEXT NOT NULL CHECK (json_valid(argv)),
  stdout_sha256 TEXT REFERENCES blob (sha256),
  stderr_sha256 TEXT REFERENCES blob (sha256),
  checked_at TEXT NOT NULL,
  PRIMARY KEY (run_id, arm, model, kind, attempt)
) STRICT;

-- As before, without warm-up trials, whose blocks are negative.
DROP VIEW latest_trial;
CREATE VIEW latest_trial AS
SELECT t.*
FROM trial AS t
WHERE t.block >= 0 AND NOT EXISTS (
  SELECT 1
  FROM trial AS later
  WHERE later.run_id = t.run_id AND later.arm = t.arm AND later.workload = t.workload AND later.model = t.model
    AND later.block = t.block AND later.attempt > t.attempt
);
