-- SPDX-License-Identifier: Apache-2.0
-- Records ended memberships and ownerships with their last transaction. These are triggers, so that they include every
-- write. Rows are written in the order of their keys, as every other write does, to avoid deadlocks.

CREATE OR REPLACE FUNCTION directory.note_removed_memberships() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO directory.removed_memberships AS r (tenant_id, group_id, member_id, is_group, left_in, disowned_in)
    SELECT t.tenant_id, t.group_id, t.member_id, t.is_group, CASE WHEN t.is_member THEN pg_current_xact_id() END,
        CASE WHEN t.is_owner THEN pg_current_xact_id() END
    FROM touched t ORDER BY t.tenant_id, t.group_id, t.member_id
    ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET
        left_in = coalesce(excluded.left_in, r.left_in), disowned_in = coalesce(excluded.disowned_in, r.disowned_in);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_removal AFTER DELETE ON directory.memberships
REFERENCING OLD TABLE AS touched FOR EACH STATEMENT EXECUTE FUNCTION directory.note_removed_memberships();


CREATE OR REPLACE FUNCTION directory.note_ended_memberships() RETURNS trigger
LANGUAGE plpgsql
SET enable_seqscan = off
SET jit = off
AS $$
BEGIN
    -- An upsert of new memberships is an update of none.
    IF NOT EXISTS (SELECT FROM before) THEN
        RETURN NULL;
    END IF;
    INSERT INTO directory.removed_memberships AS r (tenant_id, group_id, member_id, is_group, left_in, disowned_in)
    SELECT o.tenant_id, o.group_id, o.member_id, o.is_group,
        CASE WHEN o.is_member AND NOT n.is_member THEN pg_current_xact_id() END,
        CASE WHEN o.is_owner AND NOT n.is_owner THEN pg_current_xact_id() END
    FROM before o JOIN after n
        ON n.tenant_id = o.tenant_id AND n.group_id = o.group_id AND n.member_id = o.member_id
    WHERE (o.is_member AND NOT n.is_member) OR (o.is_owner AND NOT n.is_owner)
    ORDER BY o.tenant_id, o.group_id, o.member_id
    ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE SET
        left_in = coalesce(excluded.left_in, r.left_in), disowned_in = coalesce(excluded.disowned_in, r.disowned_in);
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER note_end AFTER UPDATE ON directory.memberships
REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT EXECUTE FUNCTION directory.note_ended_memberships();
