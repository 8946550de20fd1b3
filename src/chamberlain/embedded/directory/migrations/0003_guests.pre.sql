-- What groups and sites let guests do, and which groups have changed since somebody last looked.

-- What holds for a tenant's groups that have no settings of their own; without a row, what a new tenant begins with.
CREATE TABLE directory.guest_defaults (
    tenant_id uuid NOT NULL,
    allow_to_add_guests boolean NOT NULL,
    guests_added_by text NOT NULL CHECK (guests_added_by IN ('members', 'owners', 'administrators')),
    allowed_guest_domains text[] NOT NULL,
    blocked_guest_domains text[] NOT NULL,
    PRIMARY KEY (tenant_id)
);

-- A group's own settings. They begin as a copy of the tenant's, so that a row is always whole.
CREATE TABLE directory.guest_settings (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    allow_to_add_guests boolean NOT NULL,
    guests_added_by text NOT NULL CHECK (guests_added_by IN ('members', 'owners', 'administrators')),
    allowed_guest_domains text[] NOT NULL,
    blocked_guest_domains text[] NOT NULL,
    PRIMARY KEY (tenant_id, group_id)
);

-- What a site goes back to when nothing is said about it any more. A trigger (sql/changes.sql) fills it in, because a
-- process that is older than this file makes sites without it.
ALTER TABLE directory.sites ADD COLUMN default_sharing_capability text;
UPDATE directory.sites SET default_sharing_capability = sharing_capability;
ALTER TABLE directory.sites ALTER COLUMN default_sharing_capability SET NOT NULL;
ALTER TABLE directory.sites ADD CONSTRAINT sites_sharing_capability_check CHECK (
    ARRAY[sharing_capability, default_sharing_capability] <@ ARRAY[
        'disabled', 'existingExternalUserSharingOnly', 'externalUserSharingOnly', 'externalUserAndGuestSharing']);

-- The transaction that last changed a group, or anything that belongs to it. Whoever has kept a snapshot finds by it
-- what was committed since, in whatever order that happened. What was there before is as old as can be.
ALTER TABLE directory.groups ADD COLUMN changed_in xid8 NOT NULL DEFAULT '0';
ALTER TABLE directory.groups ALTER COLUMN changed_in SET DEFAULT pg_current_xact_id();
CREATE INDEX groups_changed ON directory.groups (tenant_id, changed_in, id);

-- Groups that are gone.
CREATE TABLE directory.removed_groups (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    changed_in xid8 NOT NULL,
    PRIMARY KEY (tenant_id, id)
);
CREATE INDEX removed_groups_changed ON directory.removed_groups (tenant_id, changed_in, id);

DO $$
DECLARE
    this regclass;
BEGIN
    FOREACH this IN ARRAY ARRAY[
        'directory.guest_defaults', 'directory.guest_settings', 'directory.removed_groups']::regclass[]
    LOOP
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
