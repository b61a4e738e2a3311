-- Bundles that others sent, where they came from, and which trials each holds.

CREATE TABLE bundle (
  id TEXT PRIMARY KEY,            -- SHA-256 of its manifest
  archive_sha256 TEXT NOT NULL,   -- of the file as it was received
  size INTEGER NOT NULL CHECK (size >= 0),  -- bytes of the file
  signer TEXT NOT NULL,           -- fingerprint of the key whose signature was checked; '' for none
  tier TEXT NOT NULL CHECK (tier IN ('self-reported', 'consistent', 'reproduced')),
  verdict TEXT NOT NULL CHECK (json_valid(verdict)),  -- the checks that led to the tier
  received_at TEXT NOT NULL,      -- UTC
  receipt_sha256 TEXT NOT NULL,   -- of the secret that may withdraw it; '' if none was given
  withdrawn_at TEXT,              -- UTC; NULL while it stands
  why TEXT NOT NULL,              -- why it was withdrawn
  archive BLOB NOT NULL           -- the file; last, so that the columns before it are read without it
) STRICT;
CREATE INDEX bundle_by_time ON bundle (received_at, id);
CREATE INDEX bundle_by_signer ON bundle (signer, received_at);

-- A trial that no row names was measured, or imported, here.
CREATE TABLE bundle_trial (
  bundle_id TEXT NOT NULL REFERENCES bundle (id),
  trial_id TEXT NOT NULL REFERENCES trial (id),
  PRIMARY KEY (bundle_id, trial_id)
) WITHOUT ROWID, STRICT;
CREATE INDEX bundle_by_trial ON bundle_trial (trial_id);
