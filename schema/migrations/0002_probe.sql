-- What a probe printed under the arm's injection: evidence of the treatment, kept raw like the output itself.
ALTER TABLE trial ADD COLUMN probe_sha256 TEXT REFERENCES blob (sha256);  -- NULL: no probe ran, or it gave no answer
