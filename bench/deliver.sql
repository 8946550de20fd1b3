-- SPDX-License-Identifier: Apache-2.0
-- A backlog of :number deliveries of one template, each with a payload as that of a created group, all due at once.
WITH made AS (
    SELECT chamberlain.new_delivery_id(now()) AS delivery_id, gen_random_uuid() AS event_id, gen_random_uuid() AS request_id, n
    FROM generate_series(1, :number) AS n
), queued AS (
    INSERT INTO chamberlain.job (tenant_id, kind, subject, trace_id, lane)
    SELECT 'e57a7e00-0000-4000-8000-000000000001', 'webhookDeliver', delivery_id, md5(delivery_id::text),
        ':template_id'::uuid
    FROM made ORDER BY n
    RETURNING job_id, subject
)
INSERT INTO chamberlain.delivery (
    tenant_id, delivery_id, event_id, type, request_id, template_id, url, job_id, payload, trace_id
)
SELECT 'e57a7e00-0000-4000-8000-000000000001', delivery_id, event_id, 'group.created', request_id, ':template_id'::uuid,
    '', job_id, json_build_object(
        'type', 'group.created', 'timestamp', '2026-11-20T09:30:01.000Z', 'requestId', request_id,
        'tenantId', 'e57a7e00-0000-4000-8000-000000000001', 'data', json_build_object(
            'group', json_build_object(
                'id', event_id, 'displayName', 'Group ' || n, 'mail', 'group-' || n || '@estate.example',
                'mailNickname', 'group-' || n
            ),
            'templateId', ':template_id', 'metadata', json_build_object('el-text-1', 'x'),
            'createdBy', json_build_object(
                'type', 'user', 'id', 'ada00000-0000-4000-8000-000000000001', 'displayName', 'Ada Achterberg'
            )
        )
    )::text, md5(delivery_id::text)
FROM made JOIN queued ON queued.subject = made.delivery_id;
