-- SPDX-License-Identifier: Apache-2.0
-- Sets the properties of existing mailboxes that differ from the desired ones; part of directory.ensure_mailboxes.
-- Properties that are null stay unchanged, and so do other aliases and extension attributes.

CREATE OR REPLACE FUNCTION directory.complete_mailboxes(
    tenants uuid[],
    mailbox_ids uuid[],
    made uuid[],
    faults text[],
    extension_names text[],
    wanted_properties text[],
    contacts text[],
    places text[],
    capacities integer[],
    processings text[],
    responses text[],
    replies text[],
    quotas integer[],
    hidden boolean[],
    wanted_aliases text[],
    wanted_owners text[],
    value_items integer[],
    value_members text[],
    value_values text[]
) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM directory.mailboxes m
    JOIN unnest(tenants, mailbox_ids, faults) AS i (tenant_id, user_id, fault)
        ON m.tenant_id = i.tenant_id AND m.user_id = i.user_id
    WHERE i.fault IS NULL AND i.user_id <> ALL (made)
    ORDER BY m.tenant_id, m.user_id
    FOR UPDATE OF m;

    UPDATE directory.users u SET properties = u.properties || i.properties::jsonb
    FROM unnest(tenants, mailbox_ids, faults, wanted_properties) AS i (tenant_id, user_id, fault, properties)
    WHERE u.tenant_id = i.tenant_id AND u.id = i.user_id AND i.fault IS NULL AND i.user_id <> ALL (made)
        AND NOT u.properties @> i.properties::jsonb;

    WITH wanted AS (
        SELECT m.tenant_id, m.user_id, m.contact || i.contact::jsonb AS contact,
            m.place || coalesce(i.place, '{}')::jsonb AS place,
            coalesce(i.capacity, m.resource_capacity) AS resource_capacity,
            coalesce(i.processing, m.automate_processing) AS automate_processing,
            coalesce(i.response, m.additional_response) AS additional_response,
            coalesce(i.reply, m.automatic_reply) AS automatic_reply,
            coalesce(i.quota, m.quota_megabytes) AS quota_megabytes,
            coalesce(i.is_hidden, m.is_hidden) AS is_hidden,
            CASE WHEN i.owners = '{}' THEN m.owners ELSE i.owners::uuid[] END AS owners,
            m.aliases || ARRAY(
                SELECT a.alias FROM jsonb_array_elements_text(i.aliases::jsonb) AS a (alias)
                WHERE lower(a.alias) <> ALL (directory.lowered(m.aliases))) AS aliases
        FROM unnest(
            tenants, mailbox_ids, faults, contacts, places, capacities, processings, responses, replies, quotas, hidden,
            wanted_owners, wanted_aliases
        ) AS i (tenant_id, user_id, fault, contact, place, capacity, processing, response, reply, quota, is_hidden,
            owners, aliases)
        JOIN directory.mailboxes m ON m.tenant_id = i.tenant_id AND m.user_id = i.user_id
        WHERE i.fault IS NULL AND i.user_id <> ALL (made)
    )
    UPDATE directory.mailboxes m
    SET contact = w.contact, place = w.place, resource_capacity = w.resource_capacity,
        automate_processing = w.automate_processing, additional_response = w.additional_response,
        automatic_reply = w.automatic_reply, quota_megabytes = w.quota_megabytes, is_hidden = w.is_hidden,
        owners = w.owners, aliases = w.aliases
    FROM wanted w
    WHERE m.tenant_id = w.tenant_id AND m.user_id = w.user_id AND (
        m.contact, m.place, m.resource_capacity, m.automate_processing, m.additional_response, m.automatic_reply,
        m.quota_megabytes, m.is_hidden, m.owners, m.aliases
    ) IS DISTINCT FROM (
        w.contact, w.place, w.resource_capacity, w.automate_processing, w.additional_response, w.automatic_reply,
        w.quota_megabytes, w.is_hidden, w.owners, w.aliases);

    WITH missing AS (
        SELECT tenants[v.item] AS tenant_id, mailbox_ids[v.item] AS user_id, extension_names[v.item] AS name, v.member,
            v.value
        FROM unnest(value_items, value_members, value_values) AS v (item, member, value)
        JOIN directory.mailboxes m ON m.tenant_id = tenants[v.item] AND m.user_id = mailbox_ids[v.item]
        WHERE faults[v.item] IS NULL AND mailbox_ids[v.item] <> ALL (made)
            AND m.extensions -> extension_names[v.item] -> v.member IS NULL
    ), changed AS (
        UPDATE directory.mailboxes m
        SET extensions = m.extensions || jsonb_build_object(
            n.name, coalesce(m.extensions -> n.name, '{}') || n.members)
        FROM (
            SELECT tenant_id, user_id, name, jsonb_object_agg(member, value) AS members
            FROM missing GROUP BY tenant_id, user_id, name
        ) AS n
        WHERE m.tenant_id = n.tenant_id AND m.user_id = n.user_id
    )
    INSERT INTO directory.user_extension_values (tenant_id, name, member, value, user_id)
    SELECT tenant_id, name, member, lower(value), user_id FROM missing
    ORDER BY 1, 2, 3, 4, 5
    ON CONFLICT DO NOTHING;
END
$$;
