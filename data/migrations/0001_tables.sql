CREATE TABLE "allocation_sources" (
    "upload_id" VARCHAR NOT NULL,
    "seq" BIGINT NOT NULL,
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "pool" VARCHAR NOT NULL,
    "role" VARCHAR NOT NULL,
    "platform" VARCHAR,
    "gpus" DOUBLE,
    "cores" DOUBLE,
    "started_at" TIMESTAMP,
    "ended_at" TIMESTAMP,
    "seconds" DOUBLE,
    "seconds_basis" VARCHAR,
    "price_id" VARCHAR
);

CREATE TABLE "allocations" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "pool" VARCHAR NOT NULL,
    "role" VARCHAR NOT NULL,
    "platform" VARCHAR,
    "gpus" DOUBLE,
    "cores" DOUBLE,
    "started_at" TIMESTAMP,
    "ended_at" TIMESTAMP,
    "seconds" DOUBLE,
    "seconds_basis" VARCHAR,
    "price_id" VARCHAR,
    "source" VARCHAR NOT NULL
);

CREATE TABLE "attempt_sources" (
    "upload_id" VARCHAR NOT NULL,
    "seq" BIGINT NOT NULL,
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "local_attempt" INTEGER NOT NULL,
    "started_at" TIMESTAMP,
    "ended_at" TIMESTAMP,
    "elapsed_s" DOUBLE,
    "elapsed_basis" VARCHAR,
    "status" VARCHAR,
    "cause" VARCHAR,
    "resumed_from_step" BIGINT,
    "resumed_from_attempt" INTEGER,
    "last_checkpoint_step" BIGINT,
    "last_step" BIGINT
);

CREATE TABLE "attempts" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "started_at" TIMESTAMP,
    "ended_at" TIMESTAMP,
    "elapsed_s" DOUBLE,
    "elapsed_basis" VARCHAR,
    "status" VARCHAR,
    "cause" VARCHAR,
    "resumed_from_step" BIGINT,
    "resumed_from_attempt" INTEGER,
    "last_checkpoint_step" BIGINT
);

CREATE TABLE "campaigns" (
    "campaign" VARCHAR NOT NULL,
    "team" VARCHAR,
    "shipped_checkpoint" VARCHAR,
    "note" VARCHAR
);

CREATE TABLE "checkpoints" (
    "checkpoint" VARCHAR NOT NULL,
    "run" VARCHAR,
    "attempt" INTEGER,
    "step" BIGINT,
    "parent" VARCHAR,
    "at" TIMESTAMP,
    "note" VARCHAR,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "costs" (
    "charge_start" TIMESTAMP,
    "charge_end" TIMESTAMP,
    "day" DATE,
    "provider" VARCHAR,
    "service" VARCHAR,
    "sku" VARCHAR,
    "resource_id" VARCHAR,
    "category" VARCHAR,
    "billed_cost" DOUBLE,
    "effective_cost" DOUBLE,
    "list_cost" DOUBLE,
    "currency" VARCHAR,
    "run" VARCHAR,
    "campaign" VARCHAR,
    "bucket" VARCHAR,
    "note" VARCHAR,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "env_events" (
    "run" VARCHAR,
    "step" BIGINT,
    "env" VARCHAR NOT NULL,
    "started_at" TIMESTAMP,
    "queued_s" DOUBLE,
    "cold_s" DOUBLE,
    "busy_s" DOUBLE,
    "cores" DOUBLE,
    "mem_bytes" DOUBLE,
    "ok" BOOLEAN,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "eval_tasks" (
    "eval_id" VARCHAR NOT NULL,
    "task" VARCHAR NOT NULL,
    "cluster" VARCHAR,
    "repeat" INTEGER,
    "passed" DOUBLE,
    "tokens" DOUBLE,
    "usd" DOUBLE,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "evals" (
    "eval_id" VARCHAR NOT NULL,
    "checkpoint" VARCHAR NOT NULL,
    "run" VARCHAR,
    "attempt" INTEGER,
    "step" BIGINT,
    "benchmark" VARCHAR NOT NULL,
    "benchmark_version" VARCHAR,
    "split" VARCHAR,
    "harness" VARCHAR,
    "effort" VARCHAR,
    "metric" VARCHAR,
    "k" INTEGER,
    "seed" BIGINT,
    "n_tasks" BIGINT,
    "score" DOUBLE,
    "score_kind" VARCHAR,
    "tokens" DOUBLE,
    "usd" DOUBLE,
    "at" TIMESTAMP,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "gpu_coverage" (
    "gpu_id" VARCHAR NOT NULL,
    "minute" TIMESTAMP NOT NULL,
    "known_s" DOUBLE NOT NULL,
    "unknown_s" DOUBLE NOT NULL
);

CREATE TABLE "gpu_minutes" (
    "gpu_id" VARCHAR NOT NULL,
    "minute" TIMESTAMP NOT NULL,
    "measure" VARCHAR NOT NULL,
    "known_s" DOUBLE NOT NULL,
    "weighted_sum" DOUBLE NOT NULL,
    "v_min" DOUBLE,
    "v_max" DOUBLE,
    "n" BIGINT NOT NULL
);

CREATE TABLE "gpu_parts" (
    "part_id" VARCHAR NOT NULL,
    "file" VARCHAR NOT NULL,
    "upload_id" VARCHAR NOT NULL,
    "rows" BIGINT NOT NULL,
    "gpu_ids" VARCHAR[] NOT NULL,
    "ts_min" TIMESTAMP,
    "ts_max" TIMESTAMP
);

CREATE TABLE "gpus" (
    "gpu_id" VARCHAR NOT NULL,
    "host" VARCHAR,
    "uuid" VARCHAR,
    "gpu_index" INTEGER,
    "model" VARCHAR,
    "platform" VARCHAR,
    "run" VARCHAR,
    "attempt" INTEGER,
    "pool" VARCHAR,
    "role" VARCHAR,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "length_hist" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "step" BIGINT NOT NULL,
    "bucket_low" DOUBLE NOT NULL,
    "bucket_high" DOUBLE,
    "n" DOUBLE NOT NULL,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "meta" (
    "key" VARCHAR NOT NULL,
    "value" VARCHAR
);

CREATE TABLE "metric_raw" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "step" BIGINT,
    "x_name" VARCHAR,
    "x" DOUBLE,
    "key" VARCHAR NOT NULL,
    "value" DOUBLE,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "proposals" (
    "upload_id" VARCHAR NOT NULL,
    "run" VARCHAR NOT NULL,
    "field" VARCHAR NOT NULL,
    "value" JSON NOT NULL,
    "how" VARCHAR NOT NULL
);

CREATE TABLE "quarantine" (
    "upload_id" VARCHAR NOT NULL,
    "line" BIGINT NOT NULL,
    "column_name" VARCHAR,
    "reason" VARCHAR NOT NULL,
    "text" VARCHAR
);

CREATE TABLE "run_settings" (
    "run" VARCHAR NOT NULL,
    "details" JSON NOT NULL,
    "origin" VARCHAR NOT NULL
);

CREATE TABLE "run_sources" (
    "upload_id" VARCHAR NOT NULL,
    "seq" BIGINT NOT NULL,
    "run" VARCHAR NOT NULL,
    "campaign" VARCHAR,
    "framework" VARCHAR,
    "framework_version" VARCHAR,
    "algorithm" VARCHAR,
    "mode" VARCHAR,
    "llm" VARCHAR,
    "note" VARCHAR,
    "team" VARCHAR,
    "shipped_checkpoint" VARCHAR,
    "local_run" VARCHAR,
    "synthetic" BOOLEAN NOT NULL
);

CREATE TABLE "runs" (
    "run" VARCHAR NOT NULL,
    "campaign" VARCHAR,
    "framework" VARCHAR,
    "framework_version" VARCHAR,
    "algorithm" VARCHAR,
    "mode" VARCHAR,
    "llm" VARCHAR,
    "synthetic" BOOLEAN NOT NULL,
    "note" VARCHAR
);

CREATE TABLE "scheduler_jobs" (
    "job_id" VARCHAR NOT NULL,
    "name" VARCHAR,
    "user_name" VARCHAR,
    "cluster" VARCHAR,
    "state" VARCHAR,
    "started_at" TIMESTAMP,
    "ended_at" TIMESTAMP,
    "elapsed_s" DOUBLE,
    "nodes" DOUBLE,
    "gpus" DOUBLE,
    "run" VARCHAR,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "schema_migrations" (
    "version" INTEGER NOT NULL,
    "name" VARCHAR NOT NULL,
    "applied_at" TIMESTAMP NOT NULL
);

CREATE TABLE "step_phases" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "pool" VARCHAR,
    "step" BIGINT NOT NULL,
    "phase" VARCHAR NOT NULL,
    "seconds" DOUBLE NOT NULL,
    "kind" VARCHAR NOT NULL,
    "source_key" VARCHAR NOT NULL,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "steps" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER NOT NULL,
    "step" BIGINT NOT NULL,
    "source" VARCHAR NOT NULL,
    "ts" TIMESTAMP,
    "elapsed_s" DOUBLE,
    "step_s" DOUBLE,
    "tok_prompt" DOUBLE,
    "tok_gen" DOUBLE,
    "tok_cached" DOUBLE,
    "tok_trained" DOUBLE,
    "tok_total" DOUBLE,
    "rollouts" DOUBLE,
    "groups" DOUBLE,
    "groups_all_right" DOUBLE,
    "groups_all_wrong" DOUBLE,
    "correct" DOUBLE,
    "dropped" DOUBLE,
    "len_mean" DOUBLE,
    "len_p50" DOUBLE,
    "len_p95" DOUBLE,
    "len_max" DOUBLE,
    "truncated_frac" DOUBLE,
    "reward_mean" DOUBLE,
    "staleness" DOUBLE,
    "mfu_frac" DOUBLE,
    "mem_peak_bytes" DOUBLE,
    "throughput" DOUBLE,
    "throughput_basis" VARCHAR,
    "upload_id" VARCHAR NOT NULL
);

CREATE TABLE "upload_links" (
    "upload_id" VARCHAR NOT NULL,
    "kind" VARCHAR NOT NULL,
    "name" VARCHAR NOT NULL
);

CREATE TABLE "uploads" (
    "upload_id" VARCHAR NOT NULL,
    "sha256" VARCHAR NOT NULL,
    "name" VARCHAR NOT NULL,
    "size_bytes" BIGINT NOT NULL,
    "format" VARCHAR NOT NULL,
    "confidence" DOUBLE,
    "why" VARCHAR,
    "encoding" VARCHAR,
    "line_ending" VARCHAR,
    "physical_lines" BIGINT,
    "records" BIGINT NOT NULL,
    "stored" BIGINT NOT NULL,
    "quarantined" BIGINT NOT NULL,
    "ignored" BIGINT NOT NULL,
    "rows_written" BIGINT NOT NULL,
    "choices" JSON,
    "receipt" JSON,
    "timezone" VARCHAR,
    "synthetic" BOOLEAN NOT NULL,
    "uploaded_at" TIMESTAMP NOT NULL
);
