-- SPDX-License-Identifier: Apache-2.0
-- The limit of assign: the tables that a changed assignment is written to, and one function that writes one change in one round
-- trip. It checks nothing: no token, no body, no version, no template, no policy, and not what was assigned before.
SELECT bench.copy_table(name) FROM unnest(ARRAY['subject', 'request', 'job', 'audit', 'event']) AS name;
GRANT UPDATE ON bench.subject TO chamberlain_application;
INSERT INTO bench.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
)
SELECT 'e57a7e00-0000-4000-8000-000000000001', ('be9c0000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, 'group',
    'Bench ' || n, 'bench ' || n, false, 0, now()
FROM generate_series(0, 999) n;

CREATE FUNCTION bench.assign(
    request_tenant uuid, number integer, pass integer, new_request uuid, client text, actor uuid, trace text
) RETURNS uuid
LANGUAGE plpgsql AS $$
DECLARE
    group_id uuid := ('be9c0000-0000-4000-8000-' || lpad(to_hex(number), 12, '0'))::uuid;
    template text := '7e000000-0000-4000-8000-00000000002' || 1 + pass % 2;
    policy text := '90110000-0000-4000-8000-00000000000' || 1 + pass / 2;
    people json := '{"type":"user","id":"ada00000-0000-4000-8000-000000000001","displayName":"Ada Achterberg"}';
    after json := json_build_object('templateId', template, 'policyId', policy);
BEGIN
    PERFORM set_config('chamberlain.tenant_id', request_tenant::text, true);
    UPDATE bench.subject SET template_id = template::uuid, policy_id = policy::uuid, generation = generation + 1,
        assignment_request_id = new_request, assigned_at = now(), assigned_by = people
    WHERE tenant_id = request_tenant AND subject_id = group_id;
    INSERT INTO bench.request (
        request_id, tenant_id, kind, state, display_name, template_id, template_revision, template_name, body,
        approval_required, people_checked, steps, client_id, actor_type, actor_id, actor_name, trace_id, subject_id
    ) VALUES (
        new_request, request_tenant, 'assignment', 'queued', 'Bench ' || number, template::uuid, 1, 'No guests', after,
        false, true,
        '[{"step":"markAssignment","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null},{"step":"setGuestAccess","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null},{"step":"setGuestDomains","state":"pending","attempts":0,"started_at":null,"finished_at":null,"reason":null,"next_attempt_at":null,"error":null}]',
        client, 'user', actor, 'Ada Achterberg', trace, group_id
    );
    INSERT INTO bench.job (tenant_id, kind, subject, trace_id) VALUES (request_tenant, 'assignmentApply', new_request, trace);
    INSERT INTO bench.audit (tenant_id, action, request_id, trace_id, payload) VALUES (
        request_tenant, 'group.assign', new_request, trace,
        json_build_object('actor', people, 'client', '{"id":"c11e0000-0000-4000-8000-000000000001"}'::json, 'subject',
            json_build_object('type', 'group', 'id', group_id, 'displayName', 'Bench ' || number), 'before', after, 'after', after)
    );
    INSERT INTO bench.event (event_id, tenant_id, type, request_id, at, data) VALUES (
        gen_random_uuid(), request_tenant, 'group.assignmentChanged', new_request, now(),
        json_build_object('group', json_build_object('id', group_id, 'displayName', 'Bench ' || number), 'before', after,
            'after', after, 'changedBy', people)
    );
    RETURN new_request;
END
$$;
