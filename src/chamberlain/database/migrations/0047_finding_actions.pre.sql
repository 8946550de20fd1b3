-- An ignored finding is stored as accepted, so that older processes can read it. The column has the observed value that is ignored, as
-- JSON: with another value the finding is open again.
ALTER TABLE chamberlain.finding ADD COLUMN ignored_observed text;
-- The last request that repairs the finding.
ALTER TABLE chamberlain.finding ADD COLUMN repair_request_id uuid;
CREATE INDEX finding_repair_request ON chamberlain.finding (tenant_id, repair_request_id) WHERE repair_request_id IS NOT NULL;
-- The time of the last opening. A trigger (sql/findings.sql) sets it. Null in findings that are older than this column.
ALTER TABLE chamberlain.finding ADD COLUMN opened_at timestamptz;
