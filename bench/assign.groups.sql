-- SPDX-License-Identifier: Apache-2.0
-- A thousand groups in the directory of the example estate, and as the service knows them; and a policy for each run, so that no run
-- asks for what a group has from an earlier one.
INSERT INTO directory.groups (
    tenant_id, id, display_name, mail_nickname, visibility, group_types, mail_enabled, security_enabled, extensions, created_at
)
SELECT 'e57a7e00-0000-4000-8000-000000000001', ('be9c0000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
    'Bench ' || n, 'bench-' || n, 'Private', '{Unified}', true, false, '{}', now()
FROM generate_series(0, 999) n;
INSERT INTO chamberlain.subject (
    tenant_id, subject_id, type, display_name, name_key, is_team, member_ship_type, observed_at
)
SELECT g.tenant_id, g.id, 'group', g.display_name, lower(g.display_name), false, 0, now()
FROM directory.groups g WHERE g.mail_nickname LIKE 'bench-%'
ON CONFLICT DO NOTHING;
INSERT INTO chamberlain.policy (tenant_id, policy_id, revision, active, content, created_by)
SELECT p.tenant_id, ('90110000-0000-4000-8000-' || lpad((1000 + n)::text, 12, '0'))::uuid, 1, true, p.content, p.created_by
FROM chamberlain.policy p, generate_series(1, 999) n WHERE p.policy_id = '90110000-0000-4000-8000-000000000001';
