-- Which attempt of a run each of its scheduler jobs is: derived, and how steps of a log were split by it.
CREATE TABLE "job_attempts" (
    "run" VARCHAR NOT NULL,
    "attempt" INTEGER,
    "job_id" VARCHAR,
    "cluster" VARCHAR,
    "split_from" INTEGER,
    "first_step" BIGINT,
    "last_step" BIGINT,
    "note" VARCHAR
);
