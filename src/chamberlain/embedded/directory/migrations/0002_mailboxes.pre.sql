-- Mailboxes, as a suite keeps them: a user who cannot sign in, with a mailbox beside. Texts of the address book that
-- users have too stand in properties of the user; all addresses of a mailbox stand in directory.addresses.

CREATE TABLE directory.mailboxes (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    recipient_type text NOT NULL CHECK (recipient_type IN ('SharedMailbox', 'RoomMailbox', 'EquipmentMailbox')),
    name text NOT NULL,
    -- Addresses beside the primary one, as they were written.
    aliases text[] NOT NULL,
    -- What only mailboxes say in the address book: {"phone": "...", "businessPhones": ["..."], "notes": "..."}.
    contact jsonb NOT NULL,
    -- What a room finder shows; of rooms only.
    place jsonb CHECK ((place IS NOT NULL) = (recipient_type = 'RoomMailbox')),
    -- How many people a room holds, or how many units of equipment there are.
    resource_capacity integer,
    -- Invitations to rooms and equipment: whether they are accepted, and what is said then.
    automate_processing text,
    additional_response text,
    automatic_reply text,
    quota_megabytes integer,
    is_hidden boolean NOT NULL,
    owners uuid[] NOT NULL,
    -- Extension attributes as they are shown: {"name": {"member": "value"}}.
    extensions jsonb NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (tenant_id, user_id)
);
-- Rooms are listed; there are few of them among many mailboxes.
CREATE INDEX mailboxes_rooms ON directory.mailboxes (tenant_id, user_id) WHERE recipient_type = 'RoomMailbox';

-- One row for one who may do something with a mailbox.
CREATE TABLE directory.mailbox_permissions (
    tenant_id uuid NOT NULL,
    mailbox_id uuid NOT NULL,
    user_id uuid NOT NULL,
    access_right text NOT NULL CHECK (access_right IN ('FullAccess', 'SendAs')),
    auto_mapping boolean NOT NULL,
    PRIMARY KEY (tenant_id, mailbox_id, user_id)
);

-- As directory.extension_values, of users.
CREATE TABLE directory.user_extension_values (
    tenant_id uuid NOT NULL,
    name text NOT NULL,
    member text NOT NULL,
    value text NOT NULL,
    user_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, name, member, value, user_id)
);

DO $$
DECLARE
    this regclass;
BEGIN
    FOREACH this IN ARRAY ARRAY[
        'directory.mailboxes', 'directory.mailbox_permissions', 'directory.user_extension_values']::regclass[]
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
