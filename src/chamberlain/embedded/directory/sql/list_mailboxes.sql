-- The mailboxes of a tenant by id, after one of them (null for the first page), as JSON like that of
-- directory.observe_mailboxes. Mailboxes created after `until` are excluded.

CREATE OR REPLACE FUNCTION directory.list_mailboxes(
    tenant uuid, extension_name text, behind uuid, until timestamptz, most integer
) RETURNS TABLE (shown text)
LANGUAGE sql STABLE
SET enable_seqscan = off
SET enable_hashjoin = off
SET enable_mergejoin = off
SET jit = off
SET plan_cache_mode = force_generic_plan
AS $$
    SELECT json_build_object(
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
    FROM directory.mailboxes m
    JOIN directory.users u ON u.tenant_id = m.tenant_id AND u.id = m.user_id
    WHERE m.tenant_id = tenant AND (behind IS NULL OR m.user_id > behind) AND m.created_at <= until
    ORDER BY m.user_id LIMIT most
$$;
