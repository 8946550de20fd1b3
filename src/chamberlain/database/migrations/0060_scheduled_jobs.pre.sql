-- Jobs for a later time are scheduled. A claim makes the due ones ready, and looks for tenants among the ready jobs only. A process of the
-- previous version writes ready jobs for a later time, which costs a look at their tenant.
ALTER TABLE chamberlain.job ADD COLUMN is_scheduled boolean NOT NULL DEFAULT false;
CREATE INDEX job_ready ON chamberlain.job (tenant_id, run_at) WHERE held_reason IS NULL AND lane IS NULL AND NOT is_scheduled;
CREATE INDEX job_scheduled ON chamberlain.job (run_at) WHERE held_reason IS NULL AND lane IS NULL AND is_scheduled;
