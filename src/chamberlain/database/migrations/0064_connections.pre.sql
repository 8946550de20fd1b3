-- The connection of a tenant to its directory. A tenant without a row uses the embedded directory in this database. `sealed` is the
-- credential, encrypted by the key ring; `credential_file` names a file with it instead. `checks` counts the failed checks in a row.
CREATE TABLE chamberlain.connection (
    tenant_id uuid PRIMARY KEY,
    connection_id uuid NOT NULL,
    adapter text NOT NULL,
    address text,
    sealed bytea,
    credential_file text,
    state text NOT NULL DEFAULT 'new',
    reason_code text,
    reason_detail text,
    abilities text[] NOT NULL DEFAULT '{}',
    limits jsonb NOT NULL DEFAULT '{}',
    checked_at timestamptz,
    check_at timestamptz,
    checks integer NOT NULL DEFAULT 0,
    revision integer NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now(),
    CHECK (sealed IS NULL OR credential_file IS NULL),
    CHECK ((state = 'broken') = (reason_code IS NOT NULL))
);
CREATE UNIQUE INDEX connection_id ON chamberlain.connection (connection_id);
CREATE INDEX connection_check ON chamberlain.connection (check_at) WHERE state = 'broken';

ALTER TABLE chamberlain.connection ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.connection TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.connection TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.connection TO chamberlain_application, chamberlain_worker;
