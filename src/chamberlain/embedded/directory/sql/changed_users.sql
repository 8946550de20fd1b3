-- SPDX-License-Identifier: Apache-2.0
-- Records in each user the last transaction that changed it, and lists changed users. These are triggers, so that they
-- include every write. Changes of mailboxes are in directory.changed_mailboxes already.

CREATE OR REPLACE FUNCTION directory.note_changed_user() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE ON directory.users
FOR EACH ROW WHEN (
    (OLD.display_name, OLD.user_principal_name, OLD.mail, OLD.user_type, OLD.account_enabled, OLD.manager_id,
        OLD.properties)
    IS DISTINCT FROM
    (NEW.display_name, NEW.user_principal_name, NEW.mail, NEW.user_type, NEW.account_enabled, NEW.manager_id,
        NEW.properties)
) EXECUTE FUNCTION directory.note_changed_user();


CREATE OR REPLACE FUNCTION directory.note_removed_user() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO directory.removed_users (tenant_id, id, changed_in)
    VALUES (OLD.tenant_id, OLD.id, pg_current_xact_id())
    ON CONFLICT (tenant_id, id) DO UPDATE SET changed_in = excluded.changed_in;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_removal AFTER DELETE ON directory.users
FOR EACH ROW EXECUTE FUNCTION directory.note_removed_user();


-- A page of a tenant's users, as directory.changed_groups lists groups. A user can be listed twice: for a change of the
-- user and for one of the mailbox.
CREATE OR REPLACE FUNCTION directory.changed_users(
    this_tenant uuid, since pg_snapshot, until pg_snapshot, after_change xid8, after_id uuid, most integer
) RETURNS TABLE (change text, id uuid, is_removed boolean)
LANGUAGE plpgsql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
#variable_conflict use_column
DECLARE
    earliest xid8 := greatest(pg_snapshot_xmin(since), after_change);
    latest pg_snapshot := coalesce(until, pg_current_snapshot());
BEGIN
    IF since IS NULL THEN
        RETURN QUERY
        SELECT NULL::text, u.id, false FROM directory.users u
        WHERE u.tenant_id = this_tenant AND (after_id IS NULL OR u.id > after_id) ORDER BY u.id LIMIT most;
        RETURN;
    END IF;
    RETURN QUERY
    SELECT c.changed_in::text, c.id,
        NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = this_tenant AND u.id = c.id)
    FROM (
        (SELECT u.changed_in, u.id FROM directory.users u
         WHERE u.tenant_id = this_tenant AND u.changed_in >= earliest
            AND (after_change IS NULL OR (u.changed_in, u.id) > (after_change, after_id))
            AND NOT pg_visible_in_snapshot(u.changed_in, since) AND pg_visible_in_snapshot(u.changed_in, latest)
         ORDER BY u.changed_in, u.id LIMIT most)
        UNION
        (SELECT m.changed_in, m.id FROM directory.changed_mailboxes m
         WHERE m.tenant_id = this_tenant AND m.changed_in >= earliest
            AND (after_change IS NULL OR (m.changed_in, m.id) > (after_change, after_id))
            AND NOT pg_visible_in_snapshot(m.changed_in, since) AND pg_visible_in_snapshot(m.changed_in, latest)
         ORDER BY m.changed_in, m.id LIMIT most)
        UNION
        (SELECT r.changed_in, r.id FROM directory.removed_users r
         WHERE r.tenant_id = this_tenant AND r.changed_in >= earliest
            AND (after_change IS NULL OR (r.changed_in, r.id) > (after_change, after_id))
            AND NOT pg_visible_in_snapshot(r.changed_in, since) AND pg_visible_in_snapshot(r.changed_in, latest)
         ORDER BY r.changed_in, r.id LIMIT most)
    ) AS c
    ORDER BY c.changed_in, c.id LIMIT most;
END
$$;
