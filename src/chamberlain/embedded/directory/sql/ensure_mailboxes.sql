-- SPDX-License-Identifier: Apache-2.0
-- Provisions a batch of mailboxes as directory.ensure_groups does groups: each entirely or not at all, identified by its
-- mark; two concurrent calls for one mailbox create one.
--
-- The first arrays have one entry for each item. `value_items`, `alias_items`, `owner_items` and `permission_items` are
-- the numbers (from 1) of the items that the entries next to them belong to. A permission without a right is removed.
-- Null and empty properties stay unchanged. Mailboxes must be unique.

CREATE OR REPLACE FUNCTION directory.ensure_mailboxes(
    key_member text,
    tenants uuid[],
    ids uuid[],
    extension_names text[],
    keys text[],
    recipient_types text[],
    names text[],
    display_names text[],
    mails text[],
    properties text[],
    contacts text[],
    places text[],
    capacities integer[],
    processings text[],
    responses text[],
    replies text[],
    quotas integer[],
    hidden boolean[],
    extensions text[],
    aliases text[],
    owners text[],
    value_items integer[],
    value_members text[],
    value_values text[],
    alias_items integer[],
    alias_addresses text[],
    owner_items integer[],
    owner_users uuid[],
    permission_items integer[],
    permission_users uuid[],
    permission_rights text[],
    permission_mappings boolean[],
    OUT mailbox_ids uuid[],
    OUT made uuid[],
    OUT faults text[],
    OUT culprits text[]
)
LANGUAGE plpgsql
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
DECLARE
    bad record;
    known uuid[];
    wanted_count integer;
    reserved_tenants uuid[];
    reserved_addresses text[];
    reserved_holders uuid[];
    all_made boolean;
BEGIN
    -- No wait for the disk: the caller repeats the call until its own commit records the result, and that commit also
    -- makes this one durable.
    PERFORM set_config('synchronous_commit', 'off', true);
    faults := array_fill(NULL::text, ARRAY[cardinality(ids)]);
    culprits := faults;

    FOR bad IN
        SELECT n.item, min(n.user_id::text) AS culprit
        FROM (
            SELECT o.item, o.user_id FROM unnest(owner_items, owner_users) AS o (item, user_id)
            UNION ALL
            SELECT p.item, p.user_id
            FROM unnest(permission_items, permission_users, permission_rights) AS p (item, user_id, access_right)
            WHERE p.access_right IS NOT NULL
        ) AS n
        WHERE NOT EXISTS (SELECT FROM directory.users u WHERE u.tenant_id = tenants[n.item] AND u.id = n.user_id)
        GROUP BY n.item
    LOOP
        faults[bad.item] := 'userUnknown';
        culprits[bad.item] := bad.culprit;
    END LOOP;

    SELECT array_agg(
        (SELECT v.user_id FROM directory.user_extension_values v
         WHERE v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = key_member AND v.value = lower(i.key)
         ORDER BY v.user_id LIMIT 1)
        ORDER BY i.item)
    INTO known
    FROM unnest(tenants, extension_names, keys) WITH ORDINALITY AS i (tenant_id, name, key, item);

    WITH reserved AS (
        INSERT INTO directory.addresses AS a (tenant_id, address, holder_id)
        SELECT i.tenant_id, lower(i.mail), i.id
        FROM unnest(tenants, mails, ids, known, faults) AS i (tenant_id, mail, id, known, fault)
        WHERE i.known IS NULL AND i.fault IS NULL
        UNION ALL
        SELECT tenants[x.item], lower(x.address), coalesce(known[x.item], ids[x.item])
        FROM unnest(alias_items, alias_addresses) AS x (item, address)
        WHERE faults[x.item] IS NULL
        ORDER BY 1, 2, 3
        ON CONFLICT DO NOTHING
        RETURNING a.tenant_id, a.address, a.holder_id
    )
    SELECT array_agg(r.tenant_id), array_agg(r.address), array_agg(r.holder_id)
    INTO reserved_tenants, reserved_addresses, reserved_holders
    FROM reserved r;
    SELECT (SELECT count(*) FROM unnest(known, faults) AS i (known, fault) WHERE i.known IS NULL AND i.fault IS NULL)
        + (SELECT count(*) FROM unnest(alias_items) AS x (item) WHERE faults[x.item] IS NULL)
    INTO wanted_count;

    IF coalesce(cardinality(reserved_addresses), 0) < wanted_count THEN
        FOR bad IN
            SELECT w.item, min(w.address) AS culprit
            FROM (
                SELECT i.item::integer, i.mail AS address
                FROM unnest(mails, known) WITH ORDINALITY AS i (mail, known, item) WHERE i.known IS NULL
                UNION ALL
                SELECT x.item, x.address FROM unnest(alias_items, alias_addresses) AS x (item, address)
            ) AS w
            JOIN directory.addresses a ON a.tenant_id = tenants[w.item] AND a.address = lower(w.address)
            WHERE faults[w.item] IS NULL AND a.holder_id <> coalesce(known[w.item], ids[w.item])
            GROUP BY w.item
        LOOP
            faults[bad.item] := 'addressTaken';
            culprits[bad.item] := bad.culprit;
        END LOOP;

        -- An item with a taken address releases its other addresses.
        DELETE FROM directory.addresses a
        USING unnest(reserved_tenants, reserved_addresses, reserved_holders) AS r (tenant_id, address, holder_id)
        WHERE a.tenant_id = r.tenant_id AND a.address = r.address AND EXISTS (
            SELECT FROM unnest(tenants, ids, known, faults) AS i (tenant_id, id, known, fault)
            WHERE i.tenant_id = r.tenant_id AND coalesce(i.known, i.id) = r.holder_id AND i.fault IS NOT NULL);
    END IF;

    WITH new AS (
        INSERT INTO directory.users (
            tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties)
        SELECT i.tenant_id, i.id, i.display_name, i.mail, i.mail, 'Member', false, i.properties::jsonb
        FROM unnest(tenants, ids, display_names, mails, properties, known, faults)
            AS i (tenant_id, id, display_name, mail, properties, known, fault)
        WHERE i.known IS NULL AND i.fault IS NULL
        ON CONFLICT DO NOTHING
        RETURNING id
    )
    SELECT coalesce(array_agg(new.id), '{}') INTO made FROM new;

    INSERT INTO directory.mailboxes (
        tenant_id, user_id, recipient_type, name, aliases, contact, place, resource_capacity, automate_processing,
        additional_response, automatic_reply, quota_megabytes, is_hidden, owners, extensions, created_at)
    SELECT i.tenant_id, i.id, i.recipient_type, i.name,
        ARRAY(SELECT jsonb_array_elements_text(i.aliases::jsonb)), i.contact::jsonb,
        CASE WHEN i.recipient_type = 'RoomMailbox' THEN coalesce(i.place, '{}')::jsonb END, i.capacity, i.processing,
        i.response, i.reply, i.quota, coalesce(i.is_hidden, false), i.owners::uuid[], i.extensions::jsonb, now()
    FROM unnest(
        tenants, ids, recipient_types, names, aliases, contacts, places, capacities, processings, responses, replies,
        quotas, hidden, owners, extensions
    ) AS i (tenant_id, id, recipient_type, name, aliases, contact, place, capacity, processing, response, reply,
        quota, is_hidden, owners, extensions)
    WHERE i.id = ANY (made);

    -- Objects of a concurrent call exist by now, because the call that reserved the address first has committed.
    SELECT array_agg(CASE WHEN i.fault IS NULL THEN coalesce(i.known, i.id) ELSE i.known END ORDER BY i.item)
    INTO mailbox_ids
    FROM unnest(ids, known, faults) WITH ORDINALITY AS i (id, known, fault, item);

    all_made := cardinality(made) = cardinality(ids);
    IF NOT all_made THEN
        PERFORM directory.complete_mailboxes(
            tenants, mailbox_ids, made, faults, extension_names, properties, contacts, places, capacities, processings,
            responses, replies, quotas, hidden, aliases, owners, value_items, value_members, value_values);
    END IF;

    INSERT INTO directory.user_extension_values (tenant_id, name, member, value, user_id)
    SELECT tenants[v.item], extension_names[v.item], v.member, lower(v.value), mailbox_ids[v.item]
    FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
    WHERE all_made OR mailbox_ids[v.item] = ANY (made)
    ON CONFLICT DO NOTHING;

    INSERT INTO directory.mailbox_permissions AS p (tenant_id, mailbox_id, user_id, access_right, auto_mapping)
    SELECT tenants[x.item], mailbox_ids[x.item], x.user_id, x.access_right, x.auto_mapping
    FROM unnest(permission_items, permission_users, permission_rights, permission_mappings)
        AS x (item, user_id, access_right, auto_mapping)
    WHERE x.access_right IS NOT NULL AND faults[x.item] IS NULL
    ORDER BY 1, 2, 3
    ON CONFLICT (tenant_id, mailbox_id, user_id) DO UPDATE
        SET access_right = excluded.access_right, auto_mapping = excluded.auto_mapping
        WHERE p.access_right <> excluded.access_right OR p.auto_mapping <> excluded.auto_mapping;

    IF NOT all_made THEN
        DELETE FROM directory.mailbox_permissions p
        USING unnest(permission_items, permission_users, permission_rights) AS x (item, user_id, access_right)
        WHERE x.access_right IS NULL AND faults[x.item] IS NULL AND p.tenant_id = tenants[x.item]
            AND p.mailbox_id = mailbox_ids[x.item] AND p.user_id = x.user_id;
    END IF;
END
$$;
