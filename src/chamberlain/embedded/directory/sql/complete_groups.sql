-- SPDX-License-Identifier: Apache-2.0
-- Sets the label and adds missing extension attributes of existing groups; part of directory.ensure_groups. Other
-- properties stay unchanged.

CREATE OR REPLACE FUNCTION directory.complete_groups(
    tenants uuid[],
    group_ids uuid[],
    made uuid[],
    faults text[],
    names text[],
    labels text[],
    value_items integer[],
    value_members text[],
    value_values text[]
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM directory.groups g
    JOIN unnest(tenants, group_ids, faults) AS i (tenant_id, group_id, fault)
        ON g.tenant_id = i.tenant_id AND g.id = i.group_id
    WHERE i.fault IS NULL AND i.group_id <> ALL (made)
    ORDER BY g.tenant_id, g.id
    FOR UPDATE OF g;

    UPDATE directory.groups g SET label_id = i.label_id
    FROM unnest(tenants, group_ids, faults, labels) AS i (tenant_id, group_id, fault, label_id)
    WHERE g.tenant_id = i.tenant_id AND g.id = i.group_id AND i.fault IS NULL AND i.label_id IS NOT NULL
        AND g.label_id IS DISTINCT FROM i.label_id;

    WITH missing AS (
        SELECT tenants[v.item] AS tenant_id, group_ids[v.item] AS group_id, names[v.item] AS name, v.member, v.value
        FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
        JOIN directory.groups g ON g.tenant_id = tenants[v.item] AND g.id = group_ids[v.item]
        WHERE faults[v.item] IS NULL AND group_ids[v.item] <> ALL (made) AND g.extensions -> names[v.item] -> v.member IS NULL
    ), changed AS (
        UPDATE directory.groups g
        SET extensions = g.extensions || jsonb_build_object(
            m.name, coalesce(g.extensions -> m.name, '{}') || m.members)
        FROM (
            SELECT tenant_id, group_id, name, jsonb_object_agg(member, value) AS members
            FROM missing GROUP BY tenant_id, group_id, name
        ) AS m
        WHERE g.tenant_id = m.tenant_id AND g.id = m.group_id
    )
    INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id)
    SELECT tenant_id, name, member, lower(value), group_id FROM missing
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT DO NOTHING;
END
$$;
