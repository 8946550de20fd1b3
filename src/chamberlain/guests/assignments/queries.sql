-- SPDX-License-Identifier: Apache-2.0
-- name: load
-- Mark claimed requests as running.
SELECT r.request_id, s.tenant_id, s.subject_id, s.type, s.display_name, s.generation, s.template_id, s.policy_id,
    coalesce(r.extension_prefix, t.extension_prefix) AS extension_prefix, chamberlain.clean(v.content) AS template
FROM chamberlain.request r
JOIN chamberlain.subject s ON s.tenant_id = r.tenant_id AND s.subject_id = r.subject_id
JOIN chamberlain.tenant t ON t.tenant_id = s.tenant_id
LEFT JOIN chamberlain.template g ON g.tenant_id = s.tenant_id AND g.template_id = s.template_id
LEFT JOIN chamberlain.template_revision v
    ON v.tenant_id = g.tenant_id AND v.template_id = g.template_id AND v.revision = g.revision
WHERE r.request_id = ANY ($1)

-- name: hold
-- Lock in a fixed order to avoid deadlocks. The assignment cannot change until the transaction ends.
SELECT s.tenant_id, s.subject_id, s.generation FROM chamberlain.subject s
JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, subject_id) USING (tenant_id, subject_id)
ORDER BY s.tenant_id, s.subject_id FOR NO KEY UPDATE OF s

-- name: find
-- Draft the assignments of new groups.
SELECT ordinal, tenant_id, subject_id, type, display_name, mail, is_team, member_ship_type, request_id, site_url,
    sharing, observed_at, template_id, policy_id, generation, assignment_request_id, assigned_at, assigned_by,
    assigned_type, effects, open_findings, template_name, template_kind, template_active, template_revision,
    policy_name, policy_active, policy_revision, wanted_template_name, wanted_template_kind, wanted_template_active,
    wanted_template_revision, wanted_policy_name, wanted_policy_active, wanted_policy_revision,
    chamberlain.metadata_of_group(tenant_id, subject_id) AS metadata
FROM chamberlain.find_assignments($1, $2, $3, $4)

-- name: change
-- Write drafts of new groups in the transaction that completes their requests.
SELECT ordinal FROM chamberlain.change_assignments(
    $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25,
    $26
) AS ordinal

-- name: lock_templates
-- Changes and deletions wait, so that the decision stays valid until it is written.
SELECT FROM chamberlain.template t JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, template_id)
    ON t.tenant_id = i.tenant_id AND t.template_id = i.template_id
ORDER BY t.tenant_id, t.template_id FOR SHARE OF t

-- name: lock_policies
-- Lock policies, so that they are not deleted during an assignment.
SELECT FROM chamberlain.policy p JOIN unnest($1::uuid[], $2::uuid[]) AS i (tenant_id, policy_id)
    ON p.tenant_id = i.tenant_id AND p.policy_id = i.policy_id
ORDER BY p.tenant_id, p.policy_id FOR SHARE OF p
