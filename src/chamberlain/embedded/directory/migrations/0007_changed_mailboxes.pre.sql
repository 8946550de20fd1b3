-- Mailboxes that were changed or deleted, with the last transaction that did so. `extensions` are their extension attributes before the
-- change, because the mark of a deleted mailbox is nowhere else. New mailboxes have no row, so that their creation writes nothing here.
CREATE TABLE directory.changed_mailboxes (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    changed_in xid8 NOT NULL,
    extensions jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX changed_mailboxes_order ON directory.changed_mailboxes (tenant_id, changed_in, id);

ALTER TABLE directory.changed_mailboxes ENABLE ROW LEVEL SECURITY;
CREATE POLICY one_tenant ON directory.changed_mailboxes TO chamberlain_application
    USING (tenant_id = nullif(current_setting('chamberlain.tenant_id', true), '')::uuid);
CREATE POLICY all_tenants ON directory.changed_mailboxes TO chamberlain_worker USING (true) WITH CHECK (true);
GRANT SELECT ON directory.changed_mailboxes TO chamberlain_application;
GRANT SELECT, INSERT, UPDATE, DELETE ON directory.changed_mailboxes TO chamberlain_worker;
