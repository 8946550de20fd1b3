-- SPDX-License-Identifier: Apache-2.0
-- Ten thousand people in the directory of the example estate, as it has its own.
INSERT INTO directory.users (tenant_id, id, display_name, user_principal_name, mail, user_type, account_enabled, properties)
SELECT tenant_id, ('be9c0000-0000-4000-8000-' || lpad(n::text, 12, '0'))::uuid, 'Bench ' || n, 'bench-' || n || '@estate.example',
    'bench-' || n || '@estate.example', user_type, account_enabled, properties
FROM directory.users, generate_series(1, 10000) n
WHERE id = 'be000000-0000-4000-8000-000000000002';
ANALYZE directory.users;
