-- Who has to decide now is kept for their lists beside the levels in the request itself (migration 0013): whoever writes these need not think
-- of the lists.

CREATE OR REPLACE FUNCTION chamberlain.note_approvers() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM chamberlain.request_approver a WHERE a.tenant_id = OLD.tenant_id AND a.request_id = OLD.request_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.state = 'pendingApproval' THEN
        -- As jsonb, which is taken apart once: as text it would be read anew for each of a thousand approvers, and all who ask at that
        -- moment would wait for it, of whatever tenant.
        INSERT INTO chamberlain.request_approver (tenant_id, user_id, kind, created_at, request_id)
        SELECT DISTINCT NEW.tenant_id, (approver ->> 'id')::uuid, NEW.kind, NEW.created_at, NEW.request_id
        FROM jsonb_array_elements(NEW.approvals::jsonb) AS l (level)
        CROSS JOIN LATERAL jsonb_array_elements(l.level -> 'approvers') AS a (approver)
        WHERE l.level ->> 'state' = 'pending'
        AND NOT l.level -> 'decisions' @> jsonb_build_array(jsonb_build_object('by', jsonb_build_object('id', approver -> 'id')));
    END IF;
    RETURN NULL;
END
$$;
