-- Each group and site with a policy has a job that waits for its time; whoever has run one looks whether there is another.
CREATE INDEX job_policy ON chamberlain.job (tenant_id, subject) WHERE kind = 'policyEvaluate';
