-- Each acceptance with an end has a job that waits for it, maybe for months; who accepts anew finds it, and so does who has run it.
CREATE INDEX job_reopening ON chamberlain.job (tenant_id, subject) WHERE kind = 'findingReopen';
