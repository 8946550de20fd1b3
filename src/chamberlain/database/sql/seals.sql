-- SPDX-License-Identifier: Apache-2.0
-- Seal the audit trail of a tenant: add the commits since the last look to its chain, in batches.

-- One link. The verification computes the same in chamberlain/audit/rules.py.
CREATE OR REPLACE FUNCTION chamberlain.audit_link(previous bytea, first bytea, content text) RETURNS bytea
LANGUAGE sql IMMUTABLE AS $$ SELECT sha256(coalesce(previous, first) || convert_to(content, 'UTF8')) $$;

CREATE OR REPLACE AGGREGATE chamberlain.audit_chain(first bytea, content text) (SFUNC = chamberlain.audit_link, STYPE = bytea);

-- A payload, or null if it cannot be parsed: JSON may contain \u0000 and half surrogate pairs, and text in PostgreSQL cannot. Such a
-- payload is sealed by its text like any other, and `verify` reports it.
CREATE OR REPLACE FUNCTION chamberlain.readable(payload json) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF strpos(payload::text, '\u') > 0 THEN
        BEGIN
            PERFORM payload -> 'actor';
        EXCEPTION WHEN untranslatable_character OR invalid_text_representation THEN
            RETURN NULL;
        END;
    END IF;
    RETURN payload;
END
$$;

-- Whether a row was not written by the service: its transaction began after a look, and its sequence is older than that, or its time is
-- older by more than the longest transaction, or the role is not one of the service.
CREATE OR REPLACE FUNCTION chamberlain.is_suspect(
    written_in xid8, written_by oid, sequence bigint, at timestamptz, horizon xid8, newest bigint, looked_at timestamptz
) RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT written_in > horizon AND looked_at > '-infinity' AND (
        sequence <= newest OR at < looked_at - interval '1 hour'
        OR NOT (pg_has_role(written_by, 'chamberlain_application', 'MEMBER') OR pg_has_role(written_by, 'chamberlain_worker', 'MEMBER'))
    )
$$;

-- Returns the number of sealed rows; if it is `most`, there may be more.
--
-- A look seals the rows that its snapshot shows and the previous one did not: the commits in between. So nothing is sealed before earlier
-- commits, as far as looks distinguish them; within a look rows follow their sequence. A look may take several calls.
--
-- A transaction gets its id before a sequence (changes/records.py). This one gets its own after its snapshot: transactions with a higher id
-- began later, and their sequences are above all in the snapshot. So if no running transaction had begun at the previous look, their rows
-- are above all that it saw. That is `low`.
--
-- It must walk the key of the trail and stop at the limit, and look up the seal of each row, whatever the planner believes of tables that
-- were empty a moment ago.
CREATE OR REPLACE FUNCTION chamberlain.seal_audit(tenant uuid, most integer) RETURNS integer
LANGUAGE plpgsql
SET plan_cache_mode = force_custom_plan SET enable_bitmapscan = off SET enable_seqscan = off SET enable_sort = off AS $$
DECLARE
    seen pg_snapshot;
    head_position bigint;
    head_digest bytea;
    before pg_snapshot;
    before_horizon xid8;
    before_at timestamptz;
    before_newest bigint;
    after_sequence bigint;
    wanted pg_snapshot;
    last_position bigint;
    last_digest bytea;
    last_sequence bigint;
    number integer;
BEGIN
    -- One at a time, and the snapshot is taken while this transaction has no id.
    PERFORM pg_advisory_xact_lock(hashtextextended('audit of ' || tenant, 0));
    seen := pg_current_snapshot();
    INSERT INTO chamberlain.audit_head (tenant_id) VALUES (tenant) ON CONFLICT DO NOTHING;
    -- Transaction ids never go back, unless the rows were moved to another server, where they mean nothing: unsealed rows get new ones.
    IF EXISTS (
        SELECT FROM chamberlain.audit_head h
        WHERE h.tenant_id = tenant AND pg_snapshot_xmax(coalesce(h.target, h.snapshot)) > pg_snapshot_xmax(seen)
    ) THEN
        UPDATE chamberlain.audit a SET written_in = pg_current_xact_id(), written_by = current_user::regrole::oid
        WHERE a.tenant_id = tenant AND NOT EXISTS (
            SELECT FROM chamberlain.audit_seal s WHERE s.tenant_id = tenant AND s.sequence = a.sequence
        );
        UPDATE chamberlain.audit_head h SET
            snapshot = '3:3:', horizon = '3', newest = low, looked_at = '-infinity', target = NULL, target_horizon = NULL, target_at = NULL,
            place = 0
        WHERE h.tenant_id = tenant;
        RETURN most;
    END IF;
    UPDATE chamberlain.audit_head h SET
        target = coalesce(h.target, seen), target_horizon = coalesce(h.target_horizon, pg_current_xact_id()),
        target_at = coalesce(h.target_at, now()), place = greatest(h.place, h.low)
    WHERE h.tenant_id = tenant
    RETURNING h.position, h.digest, h.snapshot, h.horizon, h.looked_at, h.newest, h.place, h.target
    INTO head_position, head_digest, before, before_horizon, before_at, before_newest, after_sequence, wanted;

    WITH fresh AS MATERIALIZED (
        SELECT a.sequence, a.at, a.action, a.request_id, a.trace_id, sha256(convert_to(a.payload::text, 'UTF8')) AS payload_digest,
            chamberlain.readable(a.payload) -> 'actor' ->> 'id' AS actor_id,
            chamberlain.readable(a.payload) -> 'subject' ->> 'id' AS subject_id,
            chamberlain.is_suspect(
                a.written_in, a.written_by, a.sequence, a.at, before_horizon, before_newest, before_at
            ) AS is_suspect
        FROM chamberlain.audit a
        WHERE a.tenant_id = tenant AND a.sequence > after_sequence
        AND NOT pg_visible_in_snapshot(a.written_in, before) AND pg_visible_in_snapshot(a.written_in, wanted)
        AND (SELECT s.position FROM chamberlain.audit_seal s WHERE s.tenant_id = tenant AND s.sequence = a.sequence) IS NULL
        ORDER BY a.sequence LIMIT most
    ), placed AS (
        SELECT fresh.*, head_position + row_number() OVER (ORDER BY fresh.sequence) AS position FROM fresh
    ), linked AS (
        SELECT placed.*, chamberlain.audit_chain(head_digest, json_build_array(
            'chamberlain audit 1', tenant, placed.position, placed.sequence, (extract(epoch FROM placed.at) * 1000000)::bigint,
            placed.action, placed.request_id, placed.trace_id, encode(placed.payload_digest, 'hex'), placed.is_suspect
        )::text) OVER (ORDER BY placed.position) AS digest
        FROM placed
    ), sealed AS (
        INSERT INTO chamberlain.audit_seal (
            tenant_id, position, sequence, previous, digest, payload_digest, is_suspect, at, action, actor_id, subject_id
        )
        SELECT tenant, position, sequence, lag(digest, 1, head_digest) OVER (ORDER BY position), digest, payload_digest, is_suspect,
            at, action, actor_id, subject_id
        FROM linked
    )
    SELECT linked.position, linked.digest, linked.sequence INTO last_position, last_digest, last_sequence
    FROM linked ORDER BY linked.position DESC LIMIT 1;

    number := coalesce(last_position, head_position) - head_position;
    UPDATE chamberlain.audit_head h SET
        position = head_position + number, digest = coalesce(last_digest, head_digest), place = coalesce(last_sequence, h.place)
    WHERE h.tenant_id = tenant;
    IF number < most THEN
        UPDATE chamberlain.audit_head h SET
            snapshot = h.target, horizon = h.target_horizon, looked_at = h.target_at, newest = greatest(h.newest, h.place),
            low = CASE
                WHEN pg_snapshot_xmin(h.target) = pg_snapshot_xmax(h.target) AND pg_snapshot_xmax(h.target) = h.target_horizon
                    THEN greatest(h.newest, h.place)
                WHEN pg_snapshot_xmin(h.target) > h.horizon THEN h.newest
                ELSE h.low
            END,
            target = NULL, target_horizon = NULL, target_at = NULL, place = 0
        WHERE h.tenant_id = tenant;
    END IF;
    RETURN number;
END
$$;
