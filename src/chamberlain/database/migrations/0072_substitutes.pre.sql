-- Substitutes of approvers. An approver has at most one. Names are those of the directory, and are not stored here.
CREATE TABLE chamberlain.substitute (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    substitute_id uuid NOT NULL,
    until timestamptz NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id),
    CHECK (user_id <> substitute_id),
    -- A day has 24 hours here, also where summer time begins within the 60 days.
    CONSTRAINT substitute_days CHECK (until > created_at AND until - created_at <= interval '60 days')
);
CREATE INDEX substitute_for ON chamberlain.substitute (tenant_id, substitute_id);
-- For retention.
CREATE INDEX substitute_until ON chamberlain.substitute (until);
ALTER TABLE chamberlain.substitute ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.substitute TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.substitute TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.substitute TO chamberlain_application, chamberlain_worker;
