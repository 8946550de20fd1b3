-- Sessions of the console. The cookie of the browser has the secret, the row its digest. `sealed` has the tokens of the user, encrypted
-- by the key ring. `browser` is the name of the browser, for the list of sessions.
CREATE TABLE chamberlain.console_session (
    digest bytea PRIMARY KEY,
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    browser text NOT NULL,
    sealed bytea NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL
);
CREATE INDEX console_session_user ON chamberlain.console_session (tenant_id, user_id);
CREATE INDEX console_session_used ON chamberlain.console_session (used_at);

ALTER TABLE chamberlain.console_session ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.console_session TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.console_session TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.console_session TO chamberlain_application, chamberlain_worker;
