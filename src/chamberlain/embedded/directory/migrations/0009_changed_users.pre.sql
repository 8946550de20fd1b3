-- The transaction that last changed a user, as in directory.groups. Existing users are as old as possible.
ALTER TABLE directory.users ADD COLUMN changed_in xid8 NOT NULL DEFAULT '0';
ALTER TABLE directory.users ALTER COLUMN changed_in SET DEFAULT pg_current_xact_id();
CREATE INDEX users_changed ON directory.users (tenant_id, changed_in, id);

-- Deleted users.
CREATE TABLE directory.removed_users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    changed_in xid8 NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX removed_users_changed ON directory.removed_users (tenant_id, changed_in, id);

-- Ended memberships of existing groups. A row stays when the membership begins again.
CREATE TABLE directory.removed_memberships (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    member_id uuid NOT NULL,
    is_group boolean NOT NULL,
    -- The last transactions that ended the membership and the ownership.
    left_in xid8,
    disowned_in xid8,
    PRIMARY KEY (tenant_id, group_id, member_id)
);

DO $$
DECLARE
    this regclass;
BEGIN
    FOREACH this IN ARRAY ARRAY['directory.removed_users', 'directory.removed_memberships']::regclass[] LOOP
        EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY', this);
        EXECUTE format(
            'CREATE POLICY one_tenant ON %s TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)', this);
        EXECUTE format('CREATE POLICY all_tenants ON %s TO chamberlain_worker USING (true) WITH CHECK (true)', this);
        EXECUTE format('GRANT SELECT ON %s TO chamberlain_application', this);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON %s TO chamberlain_worker', this);
    END LOOP;
END
$$;
