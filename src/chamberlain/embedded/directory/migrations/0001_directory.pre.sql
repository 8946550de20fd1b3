-- The embedded directory: what a suite holds of its tenants. Every table begins with the tenant, and so does every key.
--
-- There are no foreign keys: groups are made by the thousand a second, each row would be checked singly, and the one
-- function that makes them (sql/ensure_groups.sql) checks a whole batch at once.

CREATE SCHEMA directory;
GRANT USAGE ON SCHEMA directory TO chamberlain_application, chamberlain_worker;

CREATE TABLE directory.users (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    display_name text NOT NULL,
    user_principal_name text NOT NULL,
    mail text,
    user_type text NOT NULL CHECK (user_type IN ('Member', 'Guest')),
    account_enabled boolean NOT NULL,
    manager_id uuid,
    -- The texts that naming and membership rules use, by their directory names: {"department": "Sales"}.
    properties jsonb NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE directory.licenses (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    sku_part_number text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, sku_part_number)
);

CREATE TABLE directory.service_plans (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    service_plan_name text NOT NULL,
    sku_part_number text NOT NULL,
    provisioning_status text NOT NULL,
    PRIMARY KEY (tenant_id, user_id, service_plan_name, sku_part_number)
);

CREATE TABLE directory.groups (
    tenant_id uuid NOT NULL,
    id uuid NOT NULL,
    display_name text NOT NULL,
    mail_nickname text NOT NULL,
    mail text,
    description text,
    visibility text NOT NULL CHECK (visibility IN ('Private', 'Public')),
    group_types text[] NOT NULL,
    membership_rule text,
    mail_enabled boolean NOT NULL,
    security_enabled boolean NOT NULL,
    label_id text,
    -- Extension attributes as they are shown: {"name": {"member": "value"}}.
    extensions jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

-- Extension attributes as they are looked for. Values are in lower case, because they are compared without regard to it.
-- The key is the whole row: one probe finds the group, and a change of another column of the group never touches it.
CREATE TABLE directory.extension_values (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    member text NOT NULL,
    value text NOT NULL,
    group_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, name, member, value, group_id)
);

-- One row for one who belongs to a group, as owner, as member or as both: most owners are members.
CREATE TABLE directory.memberships (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    member_id uuid NOT NULL,
    is_owner boolean NOT NULL,
    is_member boolean NOT NULL,
    is_group boolean NOT NULL,
    PRIMARY KEY (tenant_id, group_id, member_id)
);
-- Groups in groups are few; walking down through them reads nothing else.
CREATE INDEX memberships_nested ON directory.memberships (tenant_id, group_id) INCLUDE (member_id) WHERE is_group;

CREATE TABLE directory.teams (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, group_id)
);

CREATE TABLE directory.channels (
    tenant_id uuid NOT NULL,
    group_id uuid NOT NULL,
    display_name text NOT NULL,
    position integer NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, group_id, display_name)
);

CREATE TABLE directory.labels (
    tenant_id uuid NOT NULL,
    id text NOT NULL,
    display_name text NOT NULL,
    PRIMARY KEY (tenant_id, id)
);

CREATE TABLE directory.sites (
    tenant_id uuid NOT NULL,
    security_group_id uuid NOT NULL,
    display_name text NOT NULL,
    web_url text NOT NULL,
    sharing_capability text NOT NULL,
    PRIMARY KEY (tenant_id, security_group_id)
);

-- Every address of a tenant, in lower case, with the user or group that has it: one address, one holder.
CREATE TABLE directory.addresses (
    tenant_id uuid NOT NULL,
    address text NOT NULL,
    holder_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, address)
);

DO $$
DECLARE
    this regclass;
BEGIN
    FOR this IN SELECT oid FROM pg_class WHERE relnamespace = 'directory'::regnamespace AND relkind = 'r' LOOP
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
