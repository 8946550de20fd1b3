-- What administrators set: what the service repairs by itself, and the secrets of webhooks.
ALTER TABLE chamberlain.tenant ADD COLUMN repair_drift boolean NOT NULL DEFAULT false;

-- The secret of a template's webhook, sealed by the key ring for this tenant, table and template. `number` counts the
-- secrets that the template has had, and is part of what names its version.
CREATE TABLE chamberlain.webhook_secret (
    tenant_id uuid NOT NULL,
    template_id uuid NOT NULL,
    number integer NOT NULL DEFAULT 1,
    sealed bytea NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (tenant_id, template_id),
    FOREIGN KEY (tenant_id, template_id) REFERENCES chamberlain.template ON DELETE CASCADE
);
ALTER TABLE chamberlain.webhook_secret ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.webhook_secret TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.webhook_secret TO chamberlain_worker USING (true);
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.webhook_secret TO chamberlain_application, chamberlain_worker;

-- Policies newest first.
CREATE INDEX policy_newest ON chamberlain.policy (tenant_id, created_at, policy_id);
