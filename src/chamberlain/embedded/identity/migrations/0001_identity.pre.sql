-- The embedded identity platform: programs, people and what the programs may ask for, tenant by tenant, and the keys that
-- sign for all of them. Passwords are not here, nor a secret that could be read back: only hashes and sealed keys.

CREATE SCHEMA identity;
GRANT USAGE ON SCHEMA identity TO chamberlain_application, chamberlain_worker;

CREATE TABLE identity.accounts (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    address text NOT NULL,
    display_name text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- An address belongs to one person everywhere, so that it says which tenant somebody signs in to.
CREATE UNIQUE INDEX accounts_address ON identity.accounts (lower(address));

CREATE TABLE identity.clients (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    name text NOT NULL,
    kind text NOT NULL CHECK (kind IN ('public', 'confidential')),
    -- Of a confidential client, once it has a secret.
    secret_hash text,
    PRIMARY KEY (tenant_id, id),
    UNIQUE (tenant_id, name)
);

CREATE TABLE identity.permissions (
    tenant_id uuid NOT NULL,
    client_id uuid NOT NULL,
    kind text NOT NULL CHECK (kind IN ('delegated', 'application')),
    resource text NOT NULL,
    name text NOT NULL,
    PRIMARY KEY (tenant_id, client_id, kind, resource, name),
    FOREIGN KEY (tenant_id, client_id) REFERENCES identity.clients (tenant_id, id) ON DELETE CASCADE
);

-- One set of keys signs for every tenant: a token names its tenant, and nobody but the platform has the keys.
CREATE TABLE identity.signing_keys (
    id text PRIMARY KEY,
    -- The private key in DER, sealed for "identity.signing_keys/<id>".
    sealed bytea NOT NULL,
    signs_from timestamptz NOT NULL
);

ALTER TABLE identity.accounts ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.clients ENABLE ROW LEVEL SECURITY;
ALTER TABLE identity.permissions ENABLE ROW LEVEL SECURITY;

CREATE POLICY own_tenant ON identity.accounts TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY own_tenant ON identity.clients TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY own_tenant ON identity.permissions TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY every_tenant ON identity.accounts TO chamberlain_worker USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON identity.clients TO chamberlain_worker USING (true) WITH CHECK (true);
CREATE POLICY every_tenant ON identity.permissions TO chamberlain_worker USING (true) WITH CHECK (true);

-- What answers requests reads people and programs and cannot change them.
GRANT SELECT ON identity.accounts, identity.clients, identity.permissions TO chamberlain_application;
GRANT SELECT, INSERT, DELETE ON identity.signing_keys TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA identity TO chamberlain_worker;
