-- Permissions in the tokens of callers, and how often each allowed a call, by day (UTC). A permission that allowed none has number 0.

CREATE TABLE chamberlain.permission_use (
    tenant_id uuid NOT NULL,
    caller_type text NOT NULL,
    caller_id uuid NOT NULL,
    permission text NOT NULL,
    day date NOT NULL,
    number bigint NOT NULL DEFAULT 0,
    last_used_at timestamptz,
    PRIMARY KEY (tenant_id, caller_type, caller_id, permission, day)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
CREATE INDEX permission_use_age ON chamberlain.permission_use (day);

ALTER TABLE chamberlain.permission_use ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.permission_use TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.permission_use TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.permission_use TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.permission_use TO chamberlain_worker;
