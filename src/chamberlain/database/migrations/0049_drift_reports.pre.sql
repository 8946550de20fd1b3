-- A report of drift by mail: it lists the findings that were opened after `since`. Its notice has the tenant as subject, and a job of its own
-- kind, which older workers leave to newer ones.
ALTER TABLE chamberlain.notice ADD COLUMN since timestamptz;
ALTER TABLE chamberlain.drift_check ADD COLUMN reported_at timestamptz;
