-- SPDX-License-Identifier: Apache-2.0
-- The approvers of the current level, and their substitutes, are stored for their lists beside the levels of the request (migration 0013), so that writers of
-- levels need not maintain the lists.

CREATE OR REPLACE FUNCTION chamberlain.note_approvers() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    -- Lists by deadline show requests without one last.
    no_deadline CONSTANT timestamptz := '9999-12-31 00:00:00+00';
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chamberlain.request_approver a WHERE a.tenant_id = OLD.tenant_id AND a.request_id = OLD.request_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state = 'pendingApproval' THEN
        -- As jsonb, which is parsed once: text would be parsed again for each of a thousand approvers, and delay all readers of every
        -- tenant meanwhile.
        INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id, deadline)
        SELECT DISTINCT NEW.tenant_id, (approver ->> 'id')::uuid, NEW.kind, NEW.created_at, NEW.request_id,
            coalesce((l.level ->> 'deadline')::timestamptz, no_deadline)
        FROM jsonb_array_elements(NEW.approvals::jsonb) AS l (level)
        CROSS JOIN LATERAL jsonb_array_elements(l.level -> 'approvers') AS a (approver)
        WHERE l.level ->> 'state' = 'pending'
        AND NOT l.level -> 'decisions' @> jsonb_build_array(jsonb_build_object('by', jsonb_build_object('id', approver -> 'id')))
        AND NOT l.level -> 'decisions' @> jsonb_build_array(
            jsonb_build_object('on_behalf_of', jsonb_build_object('id', approver -> 'id'))
        )
        -- Substitutes decide while their approver has not, and once at a level.
        UNION
        SELECT NEW.tenant_id, (substitute ->> 'id')::uuid, NEW.kind, NEW.created_at, NEW.request_id,
            coalesce((l.level ->> 'deadline')::timestamptz, no_deadline)
        FROM jsonb_array_elements(NEW.approvals::jsonb) AS l (level)
        CROSS JOIN LATERAL jsonb_array_elements(coalesce(l.level -> 'substitutes', '[]')) AS s (substitute)
        WHERE l.level ->> 'state' = 'pending'
        AND NOT EXISTS (
            SELECT FROM jsonb_array_elements(l.level -> 'decisions') AS d (decision)
            WHERE d.decision -> 'by' -> 'id' IN (s.substitute -> 'id', s.substitute -> 'approver')
            OR d.decision -> 'on_behalf_of' -> 'id' = s.substitute -> 'approver'
        );
    END IF;
    RETURN NULL;
END
$$;
