-- A job's comment, and how its run is known: by its file, or derived from names (then it may change).
ALTER TABLE scheduler_jobs ADD COLUMN comment VARCHAR;
ALTER TABLE scheduler_jobs ADD COLUMN run_by VARCHAR;
UPDATE scheduler_jobs SET run_by = 'file' WHERE run IS NOT NULL;
