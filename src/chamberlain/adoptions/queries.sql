-- SPDX-License-Identifier: Apache-2.0
-- `{name}` includes another statement or fragment of this file.

-- name: columns
-- Columns of an adoption.
adoption_id, tenant_id, kind, template_id, template_revision, template_name, filter, state, total, adopted, refused,
released, client_id, created_by, trace_id, created_at, updated_at, finished_at, extension_prefix, undone_by,
undone_client_id, undone_trace_id

-- name: find
-- Find an adoption.
SELECT {columns} FROM chamberlain.adoption WHERE tenant_id = $1 AND adoption_id = $2

-- name: lock
-- Lock an adoption for a change.
{find} FOR UPDATE

-- name: page
-- Paginate the adoptions of a tenant, newest first.
SELECT {columns} FROM chamberlain.adoption
WHERE tenant_id = $1 AND ($2::timestamptz IS NULL OR (created_at, adoption_id) < ($2, $3::uuid))
ORDER BY created_at DESC, adoption_id DESC LIMIT $4

-- name: insert
-- Save a confirmed adoption.
INSERT INTO chamberlain.adoption ({columns})
SELECT $2, $1, $3, $4, $5, $6, $7::text::json, $8, $9, 0, 0, 0, $10, $11::text::json, $12, $13, $13, NULL,
    t.extension_prefix, NULL, NULL, NULL
FROM chamberlain.tenant t WHERE t.tenant_id = $1

-- name: undo
-- Change the state to undoing.
UPDATE chamberlain.adoption SET undone_by = $3::text::json, undone_client_id = $4, undone_trace_id = $5
WHERE tenant_id = $1 AND adoption_id = $2

-- name: count
-- Add to the counts of an adoption.
UPDATE chamberlain.adoption SET
    adopted = adopted + $3, refused = refused + $4, released = released + $5, updated_at = $6
WHERE tenant_id = $1 AND adoption_id = $2

-- name: move
-- Change the state of an adoption.
UPDATE chamberlain.adoption SET state = $4, updated_at = $5, finished_at = $6
WHERE tenant_id = $1 AND adoption_id = $2 AND state = $3 RETURNING adoption_id

-- name: insert_items
-- Insert the items of an adoption. Rows that others may wait for come in the order of their keys.
INSERT INTO chamberlain.adoption_item (tenant_id, adoption_id, object_id, request_id, display_name, mail, held, state)
SELECT $1, $2, i.object_id, i.request_id, i.display_name, i.mail, i.held::json, 'pending'
FROM unnest($3::uuid[], $4::uuid[], $5::text[], $6::text[], $7::text[])
    AS i (object_id, request_id, display_name, mail, held)
ORDER BY i.object_id ON CONFLICT DO NOTHING RETURNING object_id

-- name: reserve
-- Save the items and reserve their unique values.
INSERT INTO chamberlain.reservation (tenant_id, kind, value, request_id)
SELECT $1, r.kind, r.value, r.request_id
FROM unnest($2::text[], $3::text[], $4::uuid[]) AS r (kind, value, request_id)
ORDER BY r.kind, r.value ON CONFLICT DO NOTHING RETURNING value

-- name: give_back
-- Delete the reservations of items.
DELETE FROM chamberlain.reservation v
USING unnest($2::text[], $3::text[], $4::uuid[]) AS r (kind, value, request_id)
WHERE v.tenant_id = $1 AND v.kind = r.kind AND v.value = r.value AND v.request_id = r.request_id

-- name: find_items
-- Find items in these states. New items first, then by the longest wait.
SELECT object_id, request_id, display_name, mail, held, waits_since, waited FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND state = ANY ($3) AND object_id <> ALL ($5)
ORDER BY state, waits_since NULLS FIRST, object_id LIMIT $4

-- name: refused
-- Find refused items, and released items whose mark stays, with reasons.
SELECT object_id, request_id, display_name, mail, held, code, detail, waits_since, waited FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND state IN ('refused', 'released') AND code IS NOT NULL
ORDER BY object_id LIMIT $3

-- name: left_of
-- Lock items, and return those that are still in one of these states.
SELECT object_id FROM chamberlain.adoption_item
WHERE tenant_id = $1 AND adoption_id = $2 AND object_id = ANY ($3) AND state = ANY ($4)

-- name: wait
-- Save the start of retries of the directory, and the time of waits by cause.
UPDATE chamberlain.adoption_item t SET waits_since = coalesce(t.waits_since, $4), waited = i.waited::jsonb
FROM unnest($3::uuid[], $5::text[]) AS i (object_id, waited)
WHERE t.tenant_id = $1 AND t.adoption_id = $2 AND t.object_id = i.object_id

-- name: reset_waits
-- Reset the retries of items.
UPDATE chamberlain.adoption_item SET waits_since = NULL, waited = NULL
WHERE tenant_id = $1 AND adoption_id = $2 AND waits_since IS NOT NULL

-- name: settle
-- Save the state of items, with optional reasons.
UPDATE chamberlain.adoption_item t SET state = $3, code = i.code, detail = i.detail
FROM unnest($4::uuid[], $5::text[], $6::text[]) AS i (object_id, code, detail)
WHERE t.tenant_id = $1 AND t.adoption_id = $2 AND t.object_id = i.object_id

-- name: insert_requests
-- Insert the requests of adopted objects. As a request of its own would have written it, when it had succeeded. It has
-- no steps: none were taken.
INSERT INTO chamberlain.request (
    request_id, tenant_id, kind, state, display_name, mail_nickname, address, template_id, template_revision,
    template_name, body, approval_required, people_checked, client_id, actor_type, actor_id, actor_name, trace_id,
    steps, result, finished_at, timeline, extension_prefix
)
SELECT o.request_id, $1, $2, 'succeeded', o.display_name, split_part(o.address, '@', 1), o.address, $3, $4, $5,
    o.body::json, false, true, $6, o.actor_type, o.actor_id, o.actor_name, $7, '[]', o.result::json, now(),
    o.timeline::jsonb, $17
FROM unnest($8::uuid[], $9::text[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[], $15::text[],
    $16::text[])
    AS o (request_id, display_name, address, body, actor_type, actor_id, actor_name, result, timeline)
ORDER BY o.request_id ON CONFLICT DO NOTHING

-- name: insert_mailboxes
-- Insert the mailboxes of an adoption, and the addresses and readers of each.
WITH described AS (
    INSERT INTO chamberlain.mailbox (
        request_id, mailbox_id, tenant_id, kind, name, name_key, display_name, address, alias, template_id,
        template_source, content, readers, approval_required, actor_type, actor_id, actor_name
    )
    SELECT m.request_id, m.mailbox_id, $1, $2, m.name, m.name_key, m.display_name, m.address, m.alias, $3, 'request',
        m.content::json, m.readers::uuid[], false, m.actor_type, m.actor_id, m.actor_name
    FROM unnest($4::uuid[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
        $12::text[], $13::text[], $14::uuid[], $15::text[])
        AS m (request_id, mailbox_id, name, name_key, display_name, address, alias, content, readers, actor_type,
            actor_id, actor_name)
    ORDER BY m.request_id ON CONFLICT DO NOTHING
    RETURNING kind, request_id, readers
)
INSERT INTO chamberlain.mailbox_reader (tenant_id, user_id, kind, request_id)
SELECT $1, reader, described.kind, described.request_id FROM described CROSS JOIN unnest(described.readers) reader

-- name: name_requests
-- Write the requests of adopted groups into their subjects. Groups are shown with their requests before the next look
-- into the directory, too.
UPDATE chamberlain.subject s SET request_id = i.request_id
FROM unnest($2::uuid[], $3::uuid[]) AS i (subject_id, request_id)
WHERE s.tenant_id = $1 AND s.subject_id = i.subject_id

-- name: forget_mailboxes
-- Delete the records of objects, and release their names.
WITH gone AS (
    DELETE FROM chamberlain.mailbox WHERE tenant_id = $1 AND request_id = ANY ($2)
    RETURNING mailbox_id, readers, kind, created_at, request_id
), unread AS (
    DELETE FROM chamberlain.mailbox_reader d USING gone m, unnest(m.readers) reader
    WHERE d.tenant_id = $1 AND d.user_id = reader AND d.kind = m.kind AND d.created_at = m.created_at
    AND d.request_id = m.request_id
)
SELECT mailbox_id FROM gone

-- name: forget_metadata
-- Delete the metadata of groups.
DELETE FROM chamberlain.group_metadata WHERE tenant_id = $1 AND subject_id = ANY ($2)

-- name: leave
-- Findings of guest rules stay, because unmanaged groups can have an assignment too. $5 are the properties of
-- mailboxes and groups, whose drift findings are closed.
UPDATE chamberlain.finding SET state = 'gone', last_seen_at = $4
WHERE tenant_id = $1 AND subject_id = ANY ($2) AND kind = ANY ($3) AND about = ANY ($5)
AND state IN ('open', 'accepted')

-- name: forget_repairs
-- Delete the repairs of objects. The id is not used again.
DELETE FROM chamberlain.drift_repair WHERE tenant_id = $1 AND subject_id = ANY ($2) AND about = ANY ($3)

-- name: release_by_requests
-- Mark adopted items of these requests as released, and count them.
WITH left_behind AS (
    UPDATE chamberlain.adoption_item SET state = 'released'
    WHERE tenant_id = $1 AND request_id = ANY ($2) AND state = 'adopted' RETURNING adoption_id
)
UPDATE chamberlain.adoption a SET released = a.released + l.number, updated_at = $3
FROM (SELECT adoption_id, count(*) AS number FROM left_behind GROUP BY adoption_id) l
WHERE a.tenant_id = $1 AND a.adoption_id = l.adoption_id
