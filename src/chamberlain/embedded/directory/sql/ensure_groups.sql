-- SPDX-License-Identifier: Apache-2.0
-- Provisions a batch of groups, each entirely or not at all: existing groups (by mark) are completed, missing ones
-- created. An item that is not possible has a fault in the result; it changes nothing and does not affect the others.
--
-- Two concurrent calls for one group create one group: both use the same id, and reserving its address makes the later
-- call wait for the earlier. Rows are locked and reserved in the order of their keys, to avoid deadlocks.
--
-- The first arrays have one entry for each item. `relation_items`, `value_items` and `channel_items` are the numbers
-- (from 1) of the items that the entries next to them belong to. Groups must be unique.

CREATE OR REPLACE FUNCTION directory.ensure_groups(
    key_member text,
    tenants uuid[],
    ids uuid[],
    names text[],
    keys text[],
    display_names text[],
    mail_nicknames text[],
    mails text[],
    descriptions text[],
    visibilities text[],
    membership_rules text[],
    labels text[],
    extensions text[],
    teams boolean[],
    value_items integer[],
    value_members text[],
    value_values text[],
    relation_items integer[],
    relation_users uuid[],
    relation_owners boolean[],
    relation_members boolean[],
    channel_items integer[],
    channel_names text[],
    OUT group_ids uuid[],
    OUT made uuid[],
    OUT faults text[],
    OUT culprits text[]
)
LANGUAGE plpgsql
-- Plans are cached. A plan from the time when a table was empty would always read the whole table.
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    bad record;
    wanted_count integer;
    reserved_count integer;
    known uuid[];
    all_made boolean;
BEGIN
    -- No wait for the disk: the caller repeats the call until its own commit records the result, and that commit also
    -- makes this one durable.
    PERFORM set_config('synchronous_commit', 'off', true);
    faults := array_fill(NULL::text, ARRAY[cardinality(ids)]);
    culprits := faults;

    FOR bad IN
        SELECT r.item, min(r.user_id::text) AS culprit
        FROM unnest(relation_items, relation_users) AS r (item, user_id)
        WHERE NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = tenants[r.item] AND u.id = r.user_id)
        GROUP BY r.item
    LOOP
        faults[bad.item] := 'userUnknown';
        culprits[bad.item] := bad.culprit;
    END LOOP;

    IF cardinality(array_remove(labels, NULL)) > 0 THEN
        -- Ids of labels are compared without regard to letter case.
        labels := ARRAY(
            SELECT coalesce(
                (SELECT l.id FROM directory.labels l
                 WHERE l.tenant_id = i.tenant_id AND lower(l.id) = lower(i.label_id)
                 ORDER BY l.id <> i.label_id LIMIT 1),
                i.label_id)
            FROM unnest(tenants, labels) WITH ORDINALITY AS i (tenant_id, label_id, item) ORDER BY i.item);
    END IF;
    FOR bad IN
        SELECT i.item::integer AS item, i.label_id AS culprit
        FROM unnest(tenants, labels) WITH ORDINALITY AS i (tenant_id, label_id, item)
        WHERE i.label_id IS NOT NULL
            AND NOT EXISTS (SELECT FROM directory.labels l WHERE l.tenant_id = i.tenant_id AND l.id = i.label_id)
    LOOP
        faults[bad.item] := 'labelUnknown';
        culprits[bad.item] := bad.culprit;
    END LOOP;

    SELECT array_agg(
        (SELECT v.group_id FROM directory.extension_values v
         WHERE v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = key_member AND v.value = lower(i.key)
         ORDER BY v.group_id LIMIT 1)
        ORDER BY i.item)
    INTO known
    FROM unnest(tenants, names, keys) WITH ORDINALITY AS i (tenant_id, name, key, item);

    INSERT INTO directory.addresses (tenant_id, address, holder_id)
    SELECT i.tenant_id, lower(i.mail), i.id
    FROM unnest(tenants, mails, ids, known, faults) AS i (tenant_id, mail, id, known, fault)
    WHERE i.known IS NULL AND i.fault IS NULL
    ORDER BY 1, 2
    ON CONFLICT DO NOTHING;
    GET DIAGNOSTICS reserved_count = ROW_COUNT;
    SELECT count(*) INTO wanted_count
    FROM unnest(known, faults) AS i (known, fault) WHERE i.known IS NULL AND i.fault IS NULL;

    IF reserved_count < wanted_count THEN
        FOR bad IN
            SELECT i.item::integer AS item, i.mail AS culprit
            FROM unnest(tenants, mails, ids, known, faults)
                WITH ORDINALITY AS i (tenant_id, mail, id, known, fault, item)
            JOIN directory.addresses a ON a.tenant_id = i.tenant_id AND a.address = lower(i.mail)
            WHERE i.known IS NULL AND i.fault IS NULL AND a.holder_id <> i.id
        LOOP
            faults[bad.item] := 'addressTaken';
            culprits[bad.item] := bad.culprit;
        END LOOP;
    END IF;

    WITH new AS (
        INSERT INTO directory.groups (
            tenant_id, id, display_name, mail_nickname, mail, description, visibility, group_types, membership_rule,
            mail_enabled, security_enabled, label_id, extensions, created_at)
        SELECT i.tenant_id, i.id, i.display_name, i.mail_nickname, i.mail, i.description, i.visibility,
            CASE WHEN i.membership_rule IS NULL THEN ARRAY['Unified'] ELSE ARRAY['Unified', 'DynamicMembership'] END,
            i.membership_rule, true, false, i.label_id, i.extensions::jsonb, now()
        FROM unnest(
            tenants, ids, display_names, mail_nicknames, mails, descriptions, visibilities, membership_rules, labels,
            extensions, known, faults
        ) AS i (tenant_id, id, display_name, mail_nickname, mail, description, visibility, membership_rule, label_id,
            extensions, known, fault)
        WHERE i.known IS NULL AND i.fault IS NULL
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    SELECT coalesce(array_agg(new.id), '{}') INTO made FROM new;

    -- Objects of a concurrent call exist by now, because the call that reserved the address first has committed.
    SELECT array_agg(CASE WHEN i.fault IS NULL THEN coalesce(i.known, i.id) ELSE i.known END ORDER BY i.item)
    INTO group_ids
    FROM unnest(ids, known, faults) WITH ORDINALITY AS i (id, known, fault, item);

    all_made := cardinality(made) = cardinality(ids);
    IF NOT all_made THEN
        PERFORM directory.complete_groups(
            tenants, group_ids, made, faults, names, labels, value_items, value_members, value_values);
    END IF;

    INSERT INTO directory.extension_values (tenant_id, name, member, value, group_id)
    SELECT tenants[v.item], names[v.item], v.member, lower(v.value), group_ids[v.item]
    FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
    WHERE all_made OR group_ids[v.item] = ANY (made)
    ON CONFLICT DO NOTHING;

    INSERT INTO directory.memberships AS m (tenant_id, group_id, member_id, is_owner, is_member, is_group)
    SELECT tenants[r.item], group_ids[r.item], r.user_id, r.is_owner, r.is_member, false
    FROM unnest(relation_items, relation_users, relation_owners, relation_members)
        AS r (item, user_id, is_owner, is_member)
    WHERE faults[r.item] IS NULL
    ORDER BY 1, 2, 3
    ON CONFLICT (tenant_id, group_id, member_id) DO UPDATE
        SET is_owner = m.is_owner OR excluded.is_owner, is_member = m.is_member OR excluded.is_member
        WHERE (excluded.is_owner AND NOT m.is_owner) OR (excluded.is_member AND NOT m.is_member);

    IF true = ANY (teams) THEN
        INSERT INTO directory.teams (tenant_id, group_id, created_at)
        SELECT i.tenant_id, i.group_id, now()
        FROM unnest(tenants, group_ids, teams, faults) AS i (tenant_id, group_id, is_team, fault)
        WHERE i.is_team AND i.fault IS NULL
        ORDER BY 1, 2
        ON CONFLICT DO NOTHING;

        INSERT INTO directory.channels (tenant_id, group_id, display_name, position, created_at)
        SELECT tenants[c.item], group_ids[c.item], c.name, c.position, now()
        FROM unnest(channel_items, channel_names) WITH ORDINALITY AS c (item, name, position)
        WHERE faults[c.item] IS NULL
        ORDER BY 1, 2, 3
        ON CONFLICT DO NOTHING;
    END IF;
END
$$;
