-- People sign in: their passwords and sessions, the codes and refresh tokens that programs get for them, and how often
-- somebody has failed. Nothing that is secret can be read back: passwords are hashed slowly, all else, which is long and
-- random but for what a person types in, is here as its SHA-256 digest. Whoever goes takes all of it along.

ALTER TABLE identity.accounts ADD COLUMN password_hash text;
ALTER TABLE identity.clients ADD COLUMN redirect_uris text[] NOT NULL DEFAULT '{}';

-- Who is signed in with a browser. The session's age is the age of the sign-in.
CREATE TABLE identity.sessions (
    digest bytea PRIMARY KEY,
    tenant_id uuid NOT NULL,
    account_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    FOREIGN KEY (tenant_id, account_id) REFERENCES identity.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX sessions_account ON identity.sessions (tenant_id, account_id);
CREATE INDEX sessions_end ON identity.sessions (tenant_id, ends_at);

-- Failures of late. There is no tenant: a network address has none, and neither has what somebody typed who is not known.
-- `account` counts by the address that was typed, `network` by where it came from; `code_network` and `code_all` count
-- wrong codes of devices. The subject is the digest of what is counted by, in lower case.
CREATE TABLE identity.sign_in_attempts (
    kind text NOT NULL CHECK (kind IN ('account', 'network', 'code_network', 'code_all')),
    subject bytea NOT NULL,
    failures integer NOT NULL,
    first_at timestamptz NOT NULL,
    blocked_until timestamptz,
    -- When the row counts for nothing any more and may be removed.
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (kind, subject)
);
CREATE INDEX sign_in_attempts_end ON identity.sign_in_attempts (ends_at);

-- A sign-in that goes on for as long as its program comes back in time. Of each token only the newest generation counts;
-- there is more than one where the program repeated itself. One that is older shows that two have it: the row goes.
CREATE TABLE identity.refresh_tokens (
    tenant_id uuid NOT NULL,
    family_id uuid NOT NULL,
    client_id uuid NOT NULL,
    account_id uuid NOT NULL,
    scope text NOT NULL,
    auth_time timestamptz NOT NULL,
    digests bytea[] NOT NULL,
    -- The one that the newest were given for, and when.
    used_digest bytea,
    used_at timestamptz,
    created_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, family_id),
    FOREIGN KEY (tenant_id, client_id) REFERENCES identity.clients (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, account_id) REFERENCES identity.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX refresh_tokens_account ON identity.refresh_tokens (tenant_id, account_id);
CREATE INDEX refresh_tokens_client ON identity.refresh_tokens (tenant_id, client_id);
CREATE INDEX refresh_tokens_end ON identity.refresh_tokens (tenant_id, ends_at);

-- A used code stays for a while, so that its second use is known for what it is.
CREATE TABLE identity.authorization_codes (
    tenant_id uuid NOT NULL,
    digest bytea NOT NULL,
    client_id uuid NOT NULL,
    account_id uuid NOT NULL,
    redirect_uri text NOT NULL,
    scope text NOT NULL,
    nonce text,
    code_challenge text NOT NULL,
    auth_time timestamptz NOT NULL,
    ends_at timestamptz NOT NULL,
    used_at timestamptz,
    -- What its use began.
    family_id uuid,
    PRIMARY KEY (tenant_id, digest),
    FOREIGN KEY (tenant_id, client_id) REFERENCES identity.clients (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, account_id) REFERENCES identity.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX authorization_codes_account ON identity.authorization_codes (tenant_id, account_id);
CREATE INDEX authorization_codes_client ON identity.authorization_codes (tenant_id, client_id);
CREATE INDEX authorization_codes_end ON identity.authorization_codes (tenant_id, ends_at);

CREATE TABLE identity.device_codes (
    tenant_id uuid NOT NULL,
    digest bytea NOT NULL,
    -- Typed in before the tenant is known, so no two tenants may have the same.
    user_code_digest bytea NOT NULL UNIQUE,
    client_id uuid NOT NULL,
    scope text NOT NULL,
    state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'allowed', 'denied', 'used')),
    -- Of whoever has allowed it.
    account_id uuid,
    auth_time timestamptz,
    interval_seconds integer NOT NULL,
    polled_at timestamptz,
    ends_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, digest),
    CHECK (state NOT IN ('allowed', 'used') OR (account_id IS NOT NULL AND auth_time IS NOT NULL)),
    FOREIGN KEY (tenant_id, client_id) REFERENCES identity.clients (tenant_id, id) ON DELETE CASCADE,
    FOREIGN KEY (tenant_id, account_id) REFERENCES identity.accounts (tenant_id, id) ON DELETE CASCADE
);
CREATE INDEX device_codes_account ON identity.device_codes (tenant_id, account_id);
CREATE INDEX device_codes_client ON identity.device_codes (tenant_id, client_id);
CREATE INDEX device_codes_end ON identity.device_codes (tenant_id, ends_at);

ALTER TABLE identity.sessions ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.refresh_tokens ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.authorization_codes ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.device_codes ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON identity.sessions TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY own_tenant ON identity.refresh_tokens TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY own_tenant ON identity.authorization_codes TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY own_tenant ON identity.device_codes TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY every_tenant ON identity.sessions TO chamberlain_worker USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON identity.refresh_tokens TO chamberlain_worker USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON identity.authorization_codes TO chamberlain_worker USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON identity.device_codes TO chamberlain_worker USING (true) WITH CHECK (true);

-- Passwords and programs stay what the worker's role has made them; what comes and goes with sign-ins is the application's.
GRANT SELECT, INSERT, UPDATE, DELETE ON identity.sessions, identity.sign_in_attempts, identity.refresh_tokens,
    identity.authorization_codes, identity.device_codes TO chamberlain_application, chamberlain_worker;
