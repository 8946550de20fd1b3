-- Resources as a SCIM client wrote them last, beside the user or group of the same id. `document` holds attributes that the directory has no
-- column for, and the values of its columns at that time: a differing column has been changed by another program since, and counts.
CREATE TABLE directory.scim_resources (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    external_id text,
    document jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX scim_resources_external ON directory.scim_resources (tenant_id, external_id) WHERE external_id IS NOT NULL;

ALTER TABLE directory.scim_resources ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON directory.scim_resources TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON directory.scim_resources TO chamberlain_worker USING (true) WITH CHECK (true);
GRANT SELECT ON directory.scim_resources TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory.scim_resources TO chamberlain_worker;
