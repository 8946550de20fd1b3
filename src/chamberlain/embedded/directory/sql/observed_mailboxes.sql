-- SPDX-License-Identifier: Apache-2.0
-- The state of mailboxes by mark: one row for each existing mailbox, with the number (from 1) of its mark in the arrays. The
-- mailbox is JSON, which is cheaper to decode than rows of many columns.
--
-- Of several mailboxes with one mark it is the one with the id in `ids`, if there is one. An id of a mailbox without the mark
-- is ignored.

CREATE OR REPLACE FUNCTION directory.observed_mailboxes(
    key_member text, tenants uuid[], names text[], keys text[], ids uuid[]
) RETURNS TABLE (item bigint, shown text)
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT i.item, json_build_object(
        'id', m.user_id, 'recipientType', m.recipient_type, 'name', m.name, 'displayName', u.display_name,
        'mail', coalesce(u.mail, ''), 'aliases', m.aliases, 'properties', u.properties, 'contact', m.contact,
        'place', m.place, 'resourceCapacity', m.resource_capacity, 'automateProcessing', m.automate_processing,
        'additionalResponse', m.additional_response, 'automaticReply', m.automatic_reply,
        'quotaMegabytes', m.quota_megabytes, 'isHidden', m.is_hidden, 'owners', m.owners,
        'values', coalesce(m.extensions -> i.name, '{}'),
        'permissions', (
            SELECT coalesce(json_object_agg(p.user_id, json_build_object(
                'accessRight', p.access_right, 'autoMapping', p.auto_mapping)), '{}')
            FROM directory.mailbox_permissions p WHERE p.tenant_id = m.tenant_id AND p.mailbox_id = m.user_id)
    )::text
    FROM unnest(tenants, names, keys, ids) WITH ORDINALITY AS i (tenant_id, name, key, id, item)
    CROSS JOIN LATERAL (
        SELECT v.user_id FROM directory.user_extension_values v
        WHERE v.tenant_id = i.tenant_id AND v.name = i.name AND v.member = key_member AND v.value = lower(i.key)
        ORDER BY v.user_id IS DISTINCT FROM i.id, v.user_id LIMIT 1
    ) AS marked
    JOIN directory.mailboxes m ON m.tenant_id = i.tenant_id AND m.user_id = marked.user_id
    JOIN directory.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
$$;
