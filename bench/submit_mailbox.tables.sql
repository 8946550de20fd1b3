-- SPDX-License-Identifier: Apache-2.0
-- The limit of submit_mailbox: the tables that an accepted mailbox is written to, and one function that writes one request in
-- one round trip. It checks nothing: no token, no body, no name rule, no person, no template, no idempotency key, and not that
-- the name is free.
SELECT bench.copy_table(name)
FROM unnest(ARRAY['request', 'reservation', 'mailbox', 'mailbox_reader', 'job', 'audit']) AS name;

CREATE FUNCTION bench.accept_request(
    request_tenant uuid, new_request uuid, new_mailbox uuid, template uuid, client text, actor uuid, permitted uuid, trace text
) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    display_name text := 'Bench ' || new_request;
    mail text := 'bench-' || new_request || '@estate.example';
    content json := ('{"name": "' || display_name || '", "displayName": "' || display_name || '", "templateId": "7e000000-0000-4000-8000-000000000001", "permissions": {"be000000-0000-4000-8000-000000000002": "FullAccess"}}')::json;
BEGIN
    PERFORM set_config('chamberlain.tenant_id', request_tenant::text, true);
    INSERT INTO bench.reservation (tenant_id, kind, value, request_id)
    VALUES (request_tenant, 'address', mail, new_request), (request_tenant, 'name', lower(display_name), new_request);
    INSERT INTO bench.request (
        request_id, tenant_id, kind, state, display_name, mail_nickname, address, template_id, template_revision,
        template_name, body, approval_required, people_checked, steps, client_id, actor_type, actor_id, actor_name, trace_id
    ) VALUES (
        new_request, request_tenant, 'shared', 'queued', display_name, 'bench-' || new_request, mail,
        template, 1, 'Shared mailbox', content, false, true,
        '[{"step":"createMailbox","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null},{"step":"setPermissions","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null}]',
        client, 'user', actor, 'Ada Achterberg', trace
    );
    INSERT INTO bench.mailbox (
        request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, template_id,
        template_source, content, readers, approval_required, actor_type, actor_id, actor_name
    ) VALUES (
        new_request, new_mailbox, request_tenant, 'shared', display_name, lower(display_name), display_name, mail, template,
        'request', content, ARRAY[actor, permitted], false, 'user', actor, 'Ada Achterberg'
    );
    INSERT INTO bench.mailbox_reader (tenant_id, user_id, kind, request_id)
    VALUES (request_tenant, actor, 'shared', new_request), (request_tenant, permitted, 'shared', new_request);
    INSERT INTO bench.job (tenant_id, kind, subject, trace_id) VALUES (request_tenant, 'mailboxProvision', new_request, trace);
    INSERT INTO bench.audit (tenant_id, action, request_id, trace_id, payload) VALUES (
        request_tenant, 'mailbox.create', new_request, trace,
        ('{"actor":{"type":"user","id":"ada00000-0000-4000-8000-000000000001","displayName":"Ada Achterberg"},"client":{"id":"c11e0000-0000-4000-8000-000000000001"},"subject":{"type":"request","id":"' || new_request || '","displayName":"' || display_name || '"},"before":null,"after":{"displayName":"' || display_name || '","templateId":"7e000000-0000-4000-8000-000000000001"}}')::json
    );
    RETURN new_request;
END
$$;
