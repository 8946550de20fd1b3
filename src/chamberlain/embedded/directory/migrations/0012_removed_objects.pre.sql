-- SPDX-License-Identifier: Apache-2.0
-- Removed groups and mailboxes that can be restored. `content` has the rows of each table. Their own rows are deleted, so that no read has to
-- leave them out, and their addresses are free.
CREATE TABLE directory.removed_objects (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    type text NOT NULL CHECK (type IN ('group', 'mailbox')),
    -- The mark: the extension attribute, and the value of its key member in lower case.
    name text NOT NULL,
    key text NOT NULL,
    removed_at timestamptz NOT NULL,
    content jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX removed_objects_by_mark ON directory.removed_objects (tenant_id, name, key);

ALTER TABLE directory.removed_objects ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON directory.removed_objects TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON directory.removed_objects TO chamberlain_worker USING (true) WITH CHECK (true);
GRANT SELECT ON directory.removed_objects TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory.removed_objects TO chamberlain_worker;
