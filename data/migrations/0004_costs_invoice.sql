-- The charge and the invoice that a cost row is a part of, and what a bill says about the size of machines.
ALTER TABLE costs ADD COLUMN "line" BIGINT;
ALTER TABLE costs ADD COLUMN "billing_start" TIMESTAMP;
ALTER TABLE costs ADD COLUMN "billing_end" TIMESTAMP;
ALTER TABLE costs ADD COLUMN "invoice" VARCHAR;
ALTER TABLE costs ADD COLUMN "gpus" DOUBLE;
ALTER TABLE costs ADD COLUMN "commitment_quantity" DOUBLE;
ALTER TABLE costs ADD COLUMN "commitment_unit" VARCHAR;
ALTER TABLE costs ADD COLUMN "reservation_id" VARCHAR;
