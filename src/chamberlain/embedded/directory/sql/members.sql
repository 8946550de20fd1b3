-- SPDX-License-Identifier: Apache-2.0
-- The users who are direct or nested members of the group next to them. It descends from the groups, because few groups
-- contain groups, while a user can be in thousands of groups.

CREATE OR REPLACE FUNCTION directory.members_among(this_tenant uuid, members uuid[], groups uuid[])
RETURNS TABLE (member_id uuid, group_id uuid)
LANGUAGE sql STABLE
AS $$
    WITH RECURSIVE reached (root_id, reached_id) AS (
        SELECT DISTINCT g.id, g.id FROM unnest(groups) AS g (id)
        UNION
        SELECT r.root_id, m.member_id
        FROM reached r
        JOIN directory.memberships m
            ON m.tenant_id = this_tenant AND m.group_id = r.reached_id AND m.is_group AND m.is_member
    )
    SELECT DISTINCT a.member_id, a.group_id
    FROM unnest(members, groups) AS a (member_id, group_id)
    JOIN reached r ON r.root_id = a.group_id
    JOIN directory.memberships m
        ON m.tenant_id = this_tenant AND m.group_id = r.reached_id AND m.member_id = a.member_id AND m.is_member
$$;
