-- What a row of the audit trail says of itself is not for whoever writes it to say: its sequence, its time, its transaction and its role are
-- the database's. And only the worker's role erases.
REVOKE INSERT ON chamberlain.audit FROM chamberlain_application;
GRANT INSERT (tenant_id, action, request_id, trace_id, payload) ON chamberlain.audit TO chamberlain_application;
ALTER POLICY own_tenant ON chamberlain.audit
    WITH CHECK (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid AND action <> 'user.erase');
-- A time that nobody can count from would stop whoever seals or reads. Rows that are there are not looked at.
ALTER TABLE chamberlain.audit ADD CONSTRAINT audit_at_can_be_counted
    CHECK (at >= '1970-01-01T00:00:00Z' AND at < '3000-01-01T00:00:00Z') NOT VALID;

-- The one job of a tenant that goes on while it is suspended, however many others rest.
CREATE INDEX job_audit_seal ON chamberlain.job (tenant_id) WHERE kind = 'auditSeal';
