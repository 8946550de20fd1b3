-- SPDX-License-Identifier: Apache-2.0
-- Records changed and deleted mailboxes with the last transaction that changed the mailbox, its user or its permissions.
-- These are triggers, so that they include every write. Creation is no change: it has no trigger, and permissions of a
-- mailbox of the same transaction are skipped.
--
-- The triggers are created in the order in which a new mailbox writes to these tables, to avoid deadlocks with running
-- processes.

-- For the users of mailboxes. Other users change rarely enough for the lookup.
CREATE OR REPLACE FUNCTION directory.note_changed_mailbox_user() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO directory.changed_mailboxes (tenant_id, id, changed_in, extensions)
    SELECT m.tenant_id, m.user_id, pg_current_xact_id(), m.extensions FROM directory.mailboxes m
    WHERE m.tenant_id = OLD.tenant_id AND m.user_id = OLD.id
    ON CONFLICT (tenant_id, id) DO UPDATE SET changed_in = excluded.changed_in;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_changed_mailbox AFTER UPDATE ON directory.users
FOR EACH ROW WHEN (
    (OLD.display_name, OLD.mail, OLD.properties) IS DISTINCT FROM (NEW.display_name, NEW.mail, NEW.properties)
) EXECUTE FUNCTION directory.note_changed_mailbox_user();
CREATE OR REPLACE TRIGGER note_lost_mailbox AFTER DELETE ON directory.users
FOR EACH ROW EXECUTE FUNCTION directory.note_changed_mailbox_user();


-- For changed and deleted mailboxes; `touched` are the rows before the change.
CREATE OR REPLACE FUNCTION directory.note_changed_mailboxes() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO directory.changed_mailboxes (tenant_id, id, changed_in, extensions)
    SELECT t.tenant_id, t.user_id, pg_current_xact_id(), t.extensions FROM touched t ORDER BY t.tenant_id, t.user_id
    ON CONFLICT (tenant_id, id) DO UPDATE SET changed_in = excluded.changed_in, extensions = excluded.extensions;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_change_by_update AFTER UPDATE ON directory.mailboxes
REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_changed_mailboxes();
CREATE OR REPLACE TRIGGER note_change_by_delete AFTER DELETE ON directory.mailboxes
REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_changed_mailboxes();


CREATE OR REPLACE FUNCTION directory.note_changed_permissions() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
BEGIN
    INSERT INTO directory.changed_mailboxes (tenant_id, id, changed_in, extensions)
    SELECT m.tenant_id, m.user_id, pg_current_xact_id(), m.extensions
    FROM (SELECT DISTINCT t.tenant_id, t.mailbox_id FROM touched t) AS t
    JOIN directory.mailboxes m ON m.tenant_id = t.tenant_id AND m.user_id = t.mailbox_id
    WHERE m.created_at < now()
    ORDER BY m.tenant_id, m.user_id
    ON CONFLICT (tenant_id, id) DO UPDATE SET changed_in = excluded.changed_in;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_change_by_insert AFTER INSERT ON directory.mailbox_permissions
REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_changed_permissions();
CREATE OR REPLACE TRIGGER note_change_by_update AFTER UPDATE ON directory.mailbox_permissions
REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_changed_permissions();
CREATE OR REPLACE TRIGGER note_change_by_delete AFTER DELETE ON directory.mailbox_permissions
REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_changed_permissions();


-- A page of a tenant's mailboxes that were changed or deleted by transactions that were not committed in the snapshot
-- `since`, in the order of these transactions, as in directory.changed_groups. A null `since` has no changes.
--
-- `marks` are the values of the member `key_member` under the extension attributes `names`, before and after the change.
CREATE OR REPLACE FUNCTION directory.mailbox_changes(
    this_tenant uuid, names text[], since pg_snapshot, until pg_snapshot, after_change xid8, after_id uuid, most integer,
    key_member text
) RETURNS TABLE (change text, id uuid, marks text[])
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT c.changed_in::text, c.id, ARRAY(
        SELECT DISTINCT x.extensions -> n.name ->> key_member
        FROM unnest(names) AS n (name) CROSS JOIN (VALUES (c.extensions), (m.extensions)) AS x (extensions)
        WHERE x.extensions -> n.name ->> key_member IS NOT NULL)
    FROM directory.changed_mailboxes c
    LEFT JOIN directory.mailboxes m ON m.tenant_id = c.tenant_id AND m.user_id = c.id
    WHERE c.tenant_id = this_tenant AND c.changed_in >= greatest(pg_snapshot_xmin(since), after_change)
        AND (after_change IS NULL OR (c.changed_in, c.id) > (after_change, after_id))
        AND NOT pg_visible_in_snapshot(c.changed_in, since)
        AND pg_visible_in_snapshot(c.changed_in, coalesce(until, pg_current_snapshot()))
    ORDER BY c.changed_in, c.id LIMIT most
$$;
