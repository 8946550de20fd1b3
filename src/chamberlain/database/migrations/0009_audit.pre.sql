-- The audit trail is read by filters and sealed by a chain for each tenant.

-- The transaction that wrote a row, so that whoever seals knows what a snapshot did not show yet, and its role. Rows that are there count as
-- written by this migration.
ALTER TABLE chamberlain.audit
    ADD COLUMN written_in xid8 NOT NULL DEFAULT pg_current_xact_id(),
    ADD COLUMN written_by oid NOT NULL DEFAULT current_user::regrole::oid;
-- When the row is written and not when its transaction began: of two changes of one thing the later one waits for the other, and its row
-- has the later time and the higher sequence.
ALTER TABLE chamberlain.audit ALTER COLUMN at SET DEFAULT clock_timestamp();

-- The chain: each row of the audit trail in the order in which it was sealed, without gaps. What lists search by stands here and not in
-- `audit`, whose rows are written while somebody waits for an answer. previous is the digest of
-- the position before; is_suspect says that the service did not write the row when the row says.
CREATE TABLE chamberlain.audit_seal (
    tenant_id uuid NOT NULL,
    position bigint NOT NULL,
    sequence bigint NOT NULL,
    previous bytea NOT NULL,
    digest bytea NOT NULL,
    payload_digest bytea NOT NULL,
    is_suspect boolean NOT NULL,
    at timestamptz NOT NULL,
    action text NOT NULL,
    actor_id text COLLATE "C",
    subject_id text COLLATE "C",
    PRIMARY KEY (tenant_id, position),
    UNIQUE (tenant_id, sequence)
);
-- Newest first; those of no action in particular are merged from those of each.
CREATE INDEX audit_seal_action ON chamberlain.audit_seal (tenant_id, action COLLATE "C", at, sequence);
CREATE INDEX audit_seal_actor ON chamberlain.audit_seal (tenant_id, actor_id, action COLLATE "C", at, sequence);
CREATE INDEX audit_seal_subject ON chamberlain.audit_seal (tenant_id, subject_id, at, sequence);

-- How far a tenant is sealed. Everything that `snapshot` showed, which was taken at looked_at, is in the chain; `newest` is the highest
-- sequence of that, no row that is still to come has one of `low` or below, and transactions above `horizon` began later. While a look is
-- under way, the same of it stands in the columns of the target, and what has a sequence up to `place` is sealed already. The snapshot at
-- the beginning is one that showed nothing.
CREATE TABLE chamberlain.audit_head (
    tenant_id uuid PRIMARY KEY,
    position bigint NOT NULL DEFAULT 0,
    digest bytea NOT NULL DEFAULT decode(repeat('00', 32), 'hex'),
    snapshot pg_snapshot NOT NULL DEFAULT '3:3:',
    horizon xid8 NOT NULL DEFAULT '3',
    looked_at timestamptz NOT NULL DEFAULT '-infinity',
    newest bigint NOT NULL DEFAULT 0,
    low bigint NOT NULL DEFAULT 0,
    target pg_snapshot,
    target_horizon xid8,
    target_at timestamptz,
    place bigint NOT NULL DEFAULT 0,
    logged_position bigint NOT NULL DEFAULT 0,
    logged_at timestamptz NOT NULL DEFAULT '-infinity'
);

DO $$
DECLARE
    name text;
BEGIN
    FOREACH name IN ARRAY ARRAY['audit_seal', 'audit_head'] LOOP
        EXECUTE format('ALTER TABLE chamberlain.%I ENABLE ROW LEVEL SECURITY', name);
        EXECUTE format(
            'CREATE POLICY own_tenant ON chamberlain.%I FOR SELECT TO chamberlain_application '
            'USING (tenant_id = nullif(current_setting(''chamberlain.tenant_id'', true), '''')::uuid)',
            name
        );
        EXECUTE format('CREATE POLICY all_tenants ON chamberlain.%I TO chamberlain_worker USING (true)', name);
        EXECUTE format('GRANT SELECT ON chamberlain.%I TO chamberlain_application', name);
        EXECUTE format('GRANT SELECT, INSERT, UPDATE, DELETE ON chamberlain.%I TO chamberlain_worker', name);
    END LOOP;
END
$$;
