-- Managed objects that changed in the directory, until a drift check has compared them. The discovery of groups and sites writes the rows,
-- with a job. `kind` is group, assignment, or the kind of a mailbox; `object_id` is the request of the group or mailbox, or the assigned group
-- or site.
CREATE TABLE chamberlain.changed_object (
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    object_id uuid NOT NULL,
    changed_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, kind, object_id)
);
CREATE INDEX changed_object_oldest ON chamberlain.changed_object (tenant_id, changed_at, kind, object_id);
ALTER TABLE chamberlain.changed_object ENABLE ROW LEVEL SECURITY;
CREATE POLICY own_tenant ON chamberlain.changed_object TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON chamberlain.changed_object TO chamberlain_worker USING (true);
GRANT SELECT ON chamberlain.changed_object TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.changed_object TO chamberlain_worker;

-- The cursor of the changed mailboxes of the directory.
ALTER TABLE chamberlain.discovery ADD COLUMN mailbox_position text;
