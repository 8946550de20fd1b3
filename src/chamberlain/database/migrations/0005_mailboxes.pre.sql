-- Mailboxes: what was asked for, who may read it, and names that are given away beside addresses.

-- A mailbox stands here from the acceptance of its request on, and follows that one's state; when its request is removed after its
-- time, a mailbox that exists stays, and updated_at is the last that is known of it. `content` is all that was sent or came from the
-- template's defaults, name_key the form in which names are compared. `readers` may read it without being administrators: whoever asked
-- for it, its owners, and who has a permission on it. Its moment is that of its request.
CREATE TABLE chamberlain.mailbox (
    request_id uuid PRIMARY KEY,
    mailbox_id uuid NOT NULL UNIQUE,
    tenant_id uuid NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    name_key text NOT NULL,
    display_name text NOT NULL,
    address text NOT NULL,
    alias text,
    template_id uuid NOT NULL,
    template_source text NOT NULL,
    content json NOT NULL,
    warnings json,
    readers uuid[] NOT NULL,
    approval_required boolean NOT NULL,
    actor_type text NOT NULL,
    actor_id uuid,
    actor_name text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    updated_at timestamptz NOT NULL DEFAULT now()
);
-- Newest first, those of each type, which is the kind of the request; all of them are merged from these.
CREATE INDEX mailbox_newest ON chamberlain.mailbox (tenant_id, kind, created_at, request_id);
-- By how they begin: texts are compared by their bytes here.
CREATE INDEX mailbox_name ON chamberlain.mailbox (tenant_id, name_key COLLATE "C");
CREATE INDEX mailbox_address ON chamberlain.mailbox (tenant_id, address COLLATE "C");
CREATE INDEX mailbox_alias ON chamberlain.mailbox (tenant_id, alias COLLATE "C") WHERE alias IS NOT NULL;

-- The same by who may read it, newest first.
CREATE TABLE chamberlain.mailbox_reader (
    tenant_id uuid NOT NULL,
    user_id uuid NOT NULL,
    kind text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    request_id uuid NOT NULL,
    PRIMARY KEY (tenant_id, user_id, kind, created_at, request_id)
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['mailbox', 'mailbox_reader'] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT, INSERT ON chamberlain.%I TO chamberlain_application', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;

-- What is done with a property that a mailbox of its type does not have.
ALTER TABLE chamberlain.tenant ADD COLUMN applicability text NOT NULL DEFAULT 'refuse';

-- They are put in with other arguments and answers.
DROP FUNCTION IF EXISTS chamberlain.accept_requests;
DROP FUNCTION IF EXISTS chamberlain.explain_refused;
