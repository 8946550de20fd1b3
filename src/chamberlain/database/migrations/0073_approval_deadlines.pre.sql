-- Approvers list their decisions by deadline. Requests without a deadline come last.
ALTER TABLE chamberlain.request_approver ADD COLUMN deadline timestamptz NOT NULL DEFAULT '9999-12-31 00:00:00+00';
UPDATE chamberlain.request_approver a SET deadline = (l.level ->> 'deadline')::timestamptz
FROM chamberlain.request r CROSS JOIN LATERAL json_array_elements(r.approvals) AS l (level)
WHERE r.request_id = a.request_id AND r.tenant_id = a.tenant_id
    AND l.level ->> 'state' = 'pending' AND l.level ->> 'deadline' IS NOT NULL;
CREATE INDEX request_approver_soonest ON chamberlain.request_approver (tenant_id, user_id, deadline, request_id);
