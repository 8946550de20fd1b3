-- SPDX-License-Identifier: Apache-2.0
-- Records in each group the last transaction that changed the group, its members, guest settings, site, team or guests.
-- These are triggers, so that they include every write.
--
-- The default of the column records new groups. Each function locks groups in the order of their keys, as every other
-- write does, to avoid deadlocks.

CREATE OR REPLACE FUNCTION directory.note_change() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.changed_in := pg_current_xact_id();
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER note_change BEFORE UPDATE ON directory.groups
FOR EACH ROW EXECUTE FUNCTION directory.note_change();


CREATE OR REPLACE FUNCTION directory.note_removal() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO directory.removed_groups AS r (tenant_id, id, changed_in)
    VALUES (OLD.tenant_id, OLD.id, pg_current_xact_id())
    ON CONFLICT (tenant_id, id) DO UPDATE SET changed_in = excluded.changed_in;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_removal AFTER DELETE ON directory.groups
FOR EACH ROW EXECUTE FUNCTION directory.note_removal();


-- For the tables that belong to groups; `touched` are the written or deleted rows. Groups that this transaction has
-- already created or changed are skipped, as most members are added with their group.
CREATE OR REPLACE FUNCTION directory.note_change_of_group() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
AS $$
BEGIN
    -- An upsert of new rows is an update of none.
    IF NOT EXISTS (SELECT FROM touched) THEN
        RETURN NULL;
    END IF;
    WITH locked AS MATERIALIZED (
        SELECT g.tenant_id, g.id
        FROM (SELECT DISTINCT t.tenant_id, t.group_id FROM touched t) AS t
        JOIN directory.groups g ON g.tenant_id = t.tenant_id AND g.id = t.group_id
        WHERE g.changed_in <> pg_current_xact_id()
        ORDER BY g.tenant_id, g.id
        FOR UPDATE OF g
    )
    UPDATE directory.groups g SET changed_in = pg_current_xact_id()
    FROM locked l WHERE g.tenant_id = l.tenant_id AND g.id = l.id;
    RETURN NULL;
END
$$;

DO $$
DECLARE
    belonging text;
BEGIN
    FOREACH belonging IN ARRAY ARRAY['memberships', 'teams', 'guest_settings'] LOOP
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER note_change_by_insert AFTER INSERT ON directory.%I '
            'REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_change_of_group()',
            belonging);
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER note_change_by_update AFTER UPDATE ON directory.%I '
            'REFERENCING NEW TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_change_of_group()',
            belonging);
        EXECUTE format(
            'CREATE OR REPLACE TRIGGER note_change_by_delete AFTER DELETE ON directory.%I '
            'REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_change_of_group()',
            belonging);
    END LOOP;
END
$$;


CREATE OR REPLACE FUNCTION directory.note_change_of_site() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE directory.groups g SET changed_in = pg_current_xact_id()
    WHERE g.tenant_id = coalesce(NEW.tenant_id, OLD.tenant_id)
        AND g.id = coalesce(NEW.security_group_id, OLD.security_group_id) AND g.changed_in <> pg_current_xact_id();
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_change AFTER INSERT OR UPDATE OR DELETE ON directory.sites
FOR EACH ROW EXECUTE FUNCTION directory.note_change_of_site();


CREATE OR REPLACE FUNCTION directory.keep_default_sharing() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.default_sharing_capability := coalesce(NEW.default_sharing_capability, NEW.sharing_capability);
    RETURN NEW;
END
$$;

CREATE OR REPLACE TRIGGER keep_default_sharing BEFORE INSERT ON directory.sites
FOR EACH ROW EXECUTE FUNCTION directory.keep_default_sharing();


-- For changed and deleted guests. It happens rarely, so there is no index by user, and all memberships of the tenant are
-- read.
CREATE OR REPLACE FUNCTION directory.note_change_of_guest() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    WITH locked AS MATERIALIZED (
        SELECT g.tenant_id, g.id
        FROM directory.memberships m
        JOIN directory.groups g ON g.tenant_id = m.tenant_id AND g.id = m.group_id
        WHERE m.tenant_id = OLD.tenant_id AND m.member_id = OLD.id AND g.changed_in <> pg_current_xact_id()
        ORDER BY g.tenant_id, g.id
        FOR UPDATE OF g
    )
    UPDATE directory.groups g SET changed_in = pg_current_xact_id()
    FROM locked l WHERE g.tenant_id = l.tenant_id AND g.id = l.id;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_change_by_update AFTER UPDATE ON directory.users
FOR EACH ROW
WHEN ((OLD.user_type = 'Guest' OR NEW.user_type = 'Guest')
    AND (OLD.user_type, OLD.display_name, OLD.mail) IS DISTINCT FROM (NEW.user_type, NEW.display_name, NEW.mail))
EXECUTE FUNCTION directory.note_change_of_guest();

CREATE OR REPLACE TRIGGER note_change_by_delete AFTER DELETE ON directory.users
FOR EACH ROW WHEN (OLD.user_type = 'Guest')
EXECUTE FUNCTION directory.note_change_of_guest();
