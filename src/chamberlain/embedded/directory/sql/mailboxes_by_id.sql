-- SPDX-License-Identifier: Apache-2.0
-- The mailboxes of a tenant with these ids, as JSON like that of directory.observed_mailboxes: one row for each existing
-- one, with the number (from 1) of its id in the array. Mailboxes created after `until` are excluded.

CREATE OR REPLACE FUNCTION directory.mailboxes_by_id(
    tenant uuid, extension_name text, ids uuid[], until timestamptz
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
        'values', coalesce(m.extensions -> extension_name, '{}'),
        'permissions', (
            SELECT coalesce(json_object_agg(p.user_id, json_build_object(
                'accessRight', p.access_right, 'autoMapping', p.auto_mapping)), '{}')
            FROM directory.mailbox_permissions p WHERE p.tenant_id = m.tenant_id AND p.mailbox_id = m.user_id)
    )::text
    FROM unnest(ids) WITH ORDINALITY AS i (id, item)
    JOIN directory.mailboxes m ON m.tenant_id = tenant AND m.user_id = i.id
    JOIN directory.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
    WHERE m.created_at <= until
$$;
