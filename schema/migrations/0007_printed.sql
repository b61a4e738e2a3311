-- What many rows print alike is kept once: of a row's fields those before the measurement, which are the build, the machine,
-- the model and the settings.

CREATE TABLE printed_settings (
  id INTEGER PRIMARY KEY,
  fields TEXT NOT NULL UNIQUE CHECK (json_valid(fields))  -- JSON object
) STRICT;

ALTER TABLE result ADD COLUMN settings_id INTEGER REFERENCES printed_settings (id);  -- NULL: `fields` has them all

-- `result` with every field as it was printed, in the printed order.
CREATE VIEW printed_result AS
SELECT
  r.trial_id, r.ordinal, r.test, r.build, r.n_prompt, r.n_gen, r.n_depth, r.model_type, r.model_size, r.model_n_params,
  r.backends, r.cpu_info, r.gpu_info, r.samples_ns, r.median_ts,
  CASE WHEN r.settings_id IS NULL THEN r.fields
       ELSE (SELECT substr(s.fields, 1, length(s.fields) - 1) FROM printed_settings AS s WHERE s.id = r.settings_id)
            || ',' || substr(r.fields, 2) END AS fields
FROM result AS r;

-- As before; a field is in one of the two places.
DROP VIEW llama_bench;
CREATE VIEW llama_bench AS
SELECT
  coalesce(r.fields ->> 'build_commit', s.fields ->> 'build_commit') AS build_commit,
  CAST(coalesce(r.fields ->> 'build_number', s.fields ->> 'build_number') AS INTEGER) AS build_number,
  coalesce(r.fields ->> 'cpu_info', s.fields ->> 'cpu_info') AS cpu_info,
  coalesce(r.fields ->> 'gpu_info', s.fields ->> 'gpu_info') AS gpu_info,
  coalesce(r.fields ->> 'backends', s.fields ->> 'backends') AS backends,
  coalesce(r.fields ->> 'model_filename', s.fields ->> 'model_filename') AS model_filename,
  coalesce(r.fields ->> 'model_type', s.fields ->> 'model_type') AS model_type,
  CAST(coalesce(r.fields ->> 'model_size', s.fields ->> 'model_size') AS INTEGER) AS model_size,
  CAST(coalesce(r.fields ->> 'model_n_params', s.fields ->> 'model_n_params') AS INTEGER) AS model_n_params,
  CAST(coalesce(r.fields ->> 'n_batch', s.fields ->> 'n_batch') AS INTEGER) AS n_batch,
  CAST(coalesce(r.fields ->> 'n_ubatch', s.fields ->> 'n_ubatch') AS INTEGER) AS n_ubatch,
  CAST(coalesce(r.fields ->> 'n_threads', s.fields ->> 'n_threads') AS INTEGER) AS n_threads,
  coalesce(r.fields ->> 'cpu_mask', s.fields ->> 'cpu_mask') AS cpu_mask,
  CAST(coalesce(r.fields ->> 'cpu_strict', s.fields ->> 'cpu_strict') AS INTEGER) AS cpu_strict,
  CAST(coalesce(r.fields ->> 'poll', s.fields ->> 'poll') AS INTEGER) AS poll,
  coalesce(r.fields ->> 'type_k', s.fields ->> 'type_k') AS type_k,
  coalesce(r.fields ->> 'type_v', s.fields ->> 'type_v') AS type_v,
  CAST(coalesce(r.fields ->> 'n_gpu_layers', s.fields ->> 'n_gpu_layers') AS INTEGER) AS n_gpu_layers,
  CAST(coalesce(r.fields ->> 'n_cpu_moe', s.fields ->> 'n_cpu_moe') AS INTEGER) AS n_cpu_moe,
  coalesce(r.fields ->> 'split_mode', s.fields ->> 'split_mode') AS split_mode,
  CAST(coalesce(r.fields ->> 'main_gpu', s.fields ->> 'main_gpu') AS INTEGER) AS main_gpu,
  CAST(coalesce(r.fields ->> 'no_kv_offload', s.fields ->> 'no_kv_offload') AS INTEGER) AS no_kv_offload,
  CAST(coalesce(r.fields ->> 'flash_attn', s.fields ->> 'flash_attn') AS INTEGER) AS flash_attn,
  coalesce(r.fields ->> 'devices', s.fields ->> 'devices') AS devices,
  coalesce(r.fields ->> 'tensor_split', s.fields ->> 'tensor_split') AS tensor_split,
  coalesce(r.fields ->> 'tensor_buft_overrides', s.fields ->> 'tensor_buft_overrides') AS tensor_buft_overrides,
  coalesce(r.fields ->> 'load_mode', s.fields ->> 'load_mode') AS load_mode,
  coalesce(r.fields ->> 'lazy_mode', s.fields ->> 'lazy_mode') AS lazy_mode,
  CAST(coalesce(r.fields ->> 'embeddings', s.fields ->> 'embeddings') AS INTEGER) AS embeddings,
  CAST(coalesce(r.fields ->> 'no_op_offload', s.fields ->> 'no_op_offload') AS INTEGER) AS no_op_offload,
  CAST(coalesce(r.fields ->> 'no_host', s.fields ->> 'no_host') AS INTEGER) AS no_host,
  CAST(coalesce(r.fields ->> 'fit_target', s.fields ->> 'fit_target') AS INTEGER) AS fit_target,
  CAST(coalesce(r.fields ->> 'fit_min_ctx', s.fields ->> 'fit_min_ctx') AS INTEGER) AS fit_min_ctx,
  CAST(coalesce(r.fields ->> 'n_prompt', s.fields ->> 'n_prompt') AS INTEGER) AS n_prompt,
  CAST(coalesce(r.fields ->> 'n_gen', s.fields ->> 'n_gen') AS INTEGER) AS n_gen,
  CAST(coalesce(r.fields ->> 'n_depth', s.fields ->> 'n_depth') AS INTEGER) AS n_depth,
  coalesce(r.fields ->> 'test_time', s.fields ->> 'test_time') AS test_time,
  CAST(coalesce(r.fields ->> 'avg_ns', s.fields ->> 'avg_ns') AS INTEGER) AS avg_ns,
  CAST(coalesce(r.fields ->> 'stddev_ns', s.fields ->> 'stddev_ns') AS INTEGER) AS stddev_ns,
  CAST(coalesce(r.fields ->> 'avg_ts', s.fields ->> 'avg_ts') AS REAL) AS avg_ts,
  CAST(coalesce(r.fields ->> 'stddev_ts', s.fields ->> 'stddev_ts') AS REAL) AS stddev_ts,
  -- Printed by older builds only.
  CAST(coalesce(r.fields ->> 'cuda', s.fields ->> 'cuda') AS INTEGER) AS cuda,
  CAST(coalesce(r.fields ->> 'opencl', s.fields ->> 'opencl') AS INTEGER) AS opencl,
  CAST(coalesce(r.fields ->> 'metal', s.fields ->> 'metal') AS INTEGER) AS metal,
  CAST(coalesce(r.fields ->> 'vulkan', s.fields ->> 'vulkan') AS INTEGER) AS vulkan,
  CAST(coalesce(r.fields ->> 'kompute', s.fields ->> 'kompute') AS INTEGER) AS kompute,
  CAST(coalesce(r.fields ->> 'sycl', s.fields ->> 'sycl') AS INTEGER) AS sycl,
  coalesce(r.fields ->> 'rpc', s.fields ->> 'rpc') AS rpc,
  CAST(coalesce(r.fields ->> 'gpu_blas', s.fields ->> 'gpu_blas') AS INTEGER) AS gpu_blas,
  CAST(coalesce(r.fields ->> 'blas', s.fields ->> 'blas') AS INTEGER) AS blas,
  CAST(coalesce(r.fields ->> 'f16_kv', s.fields ->> 'f16_kv') AS INTEGER) AS f16_kv,
  CAST(coalesce(r.fields ->> 'mul_mat_q', s.fields ->> 'mul_mat_q') AS INTEGER) AS mul_mat_q,
  CAST(coalesce(r.fields ->> 'low_vram', s.fields ->> 'low_vram') AS INTEGER) AS low_vram,
  CAST(coalesce(r.fields ->> 'use_mmap', s.fields ->> 'use_mmap') AS INTEGER) AS use_mmap,
  CAST(coalesce(r.fields ->> 'use_direct_io', s.fields ->> 'use_direct_io') AS INTEGER) AS use_direct_io,
  CAST(coalesce(r.fields ->> 'defrag_thold', s.fields ->> 'defrag_thold') AS REAL) AS defrag_thold,
  r.test,
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
JOIN trial AS t ON t.id = r.trial_id
LEFT JOIN printed_settings AS s ON s.id = r.settings_id;
