-- For the sweep that makes the jobs of tenants with changes due.
CREATE INDEX job_discovery ON chamberlain.job (tenant_id) WHERE kind = 'subjectDiscover';
