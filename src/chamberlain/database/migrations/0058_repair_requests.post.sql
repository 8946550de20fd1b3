-- Requests of kind repair are accepted once this file is applied: older processes cannot read them (drift/queries.sql).
COMMENT ON COLUMN chamberlain.finding.repair_request_id IS 'The last request that repairs the finding.';
