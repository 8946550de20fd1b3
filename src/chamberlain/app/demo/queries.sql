-- SPDX-License-Identifier: Apache-2.0
-- name: foreign_people
-- Count the people of a tenant's directory besides those with the ids $2 or with ids of the demo. Mailboxes are users
-- of the directory, too.
SELECT count(*) AS number FROM directory.users u
WHERE u.tenant_id = $1 AND u.id <> ALL ($2::uuid[]) AND left(u.id::text, 8) <> ALL ($3::text[])
AND NOT EXISTS (SELECT FROM directory.mailboxes m WHERE m.tenant_id = u.tenant_id AND m.user_id = u.id)

-- name: is_filled
-- Return whether the tenant has a person of the demo.
SELECT EXISTS (
    SELECT FROM directory.users u WHERE u.tenant_id = $1 AND left(u.id::text, 8) = ANY ($2::text[])
) AS is_filled

-- name: taken_names
-- List the names of the demo that requests ($2) and templates ($3) have.
SELECT r.display_name AS name FROM chamberlain.request r
WHERE r.tenant_id = $1 AND r.kind NOT IN ('assignment', 'repair') AND r.display_name = ANY ($2::text[])
UNION
SELECT chamberlain.clean(r.content) ->> 'name' FROM chamberlain.template t
JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
WHERE t.tenant_id = $1 AND chamberlain.clean(r.content) ->> 'name' = ANY ($3::text[])
ORDER BY name

-- name: foreign_requests
-- Count the requests besides those of the demo, which has one for each of its names. Assignments and repairs do not
-- count.
SELECT count(*) - count(DISTINCT r.display_name) FILTER (WHERE r.display_name = ANY ($2::text[])) AS number
FROM chamberlain.request r
WHERE r.tenant_id = $1 AND r.kind NOT IN ('assignment', 'repair')

-- name: foreign_rules
-- Count the templates and policies that were changed, or have other names than those of the sample and the demo.
SELECT (
    SELECT count(*) FROM chamberlain.template t
    JOIN chamberlain.template_revision r USING (tenant_id, template_id, revision)
    WHERE t.tenant_id = $1 AND (t.revision > 1 OR chamberlain.clean(r.content) ->> 'name' <> ALL ($2::text[]))
) + (
    SELECT count(*) FROM chamberlain.policy p
    WHERE p.tenant_id = $1 AND (p.revision > 1 OR chamberlain.clean(p.content) ->> 'name' <> ALL ($2::text[]))
) AS number

-- name: add_guests
-- Add guests to groups, as an owner does in the directory.
INSERT INTO directory.memberships (tenant_id, group_id, member_id, is_owner, is_member, is_group)
SELECT $1, i.group_id, i.guest_id, false, true, false FROM unnest($2::uuid[], $3::uuid[]) AS i (group_id, guest_id)
ON CONFLICT DO NOTHING

-- name: rename_groups
-- Rename groups, as an owner does in the directory.
UPDATE directory.groups g SET display_name = i.name
FROM unnest($2::uuid[], $3::text[]) AS i (id, name) WHERE g.tenant_id = $1 AND g.id = i.id AND g.display_name <> i.name

-- name: rename_mailboxes
-- Rename the users of mailboxes by their address, as an administrator does in the directory.
UPDATE directory.users u SET display_name = i.name
FROM unnest($2::text[], $3::text[]) AS i (mail, name)
WHERE u.tenant_id = $1 AND u.mail = i.mail AND u.display_name <> i.name

-- name: add_ended
-- Add figures of ended requests for past hours.
INSERT INTO chamberlain.ended_hour (tenant_id, hour, kind, state, number)
SELECT $1, i.hour, i.kind, i.state, i.number
FROM unnest($2::timestamptz[], $3::text[], $4::text[], $5::bigint[]) AS i (hour, kind, state, number)
ON CONFLICT DO NOTHING

-- name: add_ready
-- Add times to ready for past hours, one bucket for each.
INSERT INTO chamberlain.ready_hour (tenant_id, hour, template_id, since, buckets, numbers)
SELECT $1, i.hour, i.template_id, i.since, ARRAY[i.bucket], ARRAY[i.number]
FROM unnest($2::timestamptz[], $3::uuid[], $4::text[], $5::smallint[], $6::integer[])
    AS i (hour, template_id, since, bucket, number)
ON CONFLICT DO NOTHING
