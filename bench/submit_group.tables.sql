-- SPDX-License-Identifier: Apache-2.0
-- The limit of submit_group: the tables that an accepted group is written to, and one function that writes one request in one
-- round trip. It checks nothing: no token, no body, no name rule, no person, no template, no idempotency key.
SELECT bench.copy_table(name) FROM unnest(ARRAY['request', 'reservation', 'job', 'audit']) AS name;

CREATE FUNCTION bench.accept_request(
    request_tenant uuid, new_request uuid, template uuid, client text, actor uuid, trace text
) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    nickname text := 'bench-' || new_request;
BEGIN
    PERFORM set_config('chamberlain.tenant_id', request_tenant::text, true);
    INSERT INTO bench.reservation (tenant_id, kind, value, request_id)
    VALUES (request_tenant, 'address', nickname || '@estate.example', new_request);
    INSERT INTO bench.request (
        request_id, tenant_id, kind, state, display_name, mail_nickname, address, template_id, template_revision,
        template_name, body, approval_required, people_checked, steps, client_id, actor_type, actor_id, actor_name, trace_id
    ) VALUES (
        new_request, request_tenant, 'group', 'queued', 'Bench ' || new_request, nickname, nickname || '@estate.example',
        template, 1, 'Project group',
        ('{"displayName": "Bench ' || new_request || '", "templateId": "7e000000-0000-4000-8000-000000000011"}')::json,
        false, true,
        '[{"step":"createGroup","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null},{"step":"addOwners","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null},{"step":"addMembers","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null}]',
        client, 'user', actor, 'Ada Achterberg', trace
    );
    INSERT INTO bench.job (tenant_id, kind, subject, trace_id) VALUES (request_tenant, 'groupProvision', new_request, trace);
    INSERT INTO bench.audit (tenant_id, action, request_id, trace_id, payload) VALUES (
        request_tenant, 'group.create', new_request, trace,
        ('{"actor":{"type":"user","id":"ada00000-0000-4000-8000-000000000001","displayName":"Ada Achterberg"},"client":{"id":"c11e0000-0000-4000-8000-000000000001"},"subject":{"type":"request","id":"' || new_request || '","displayName":"Bench ' || new_request || '"},"before":null,"after":{"displayName":"Bench ' || new_request || '","templateId":"7e000000-0000-4000-8000-000000000011"}}')::json
    );
    RETURN new_request;
END
$$;
