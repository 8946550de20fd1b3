-- SPDX-License-Identifier: Apache-2.0
-- name: add
-- Record a deletion in its transaction.
INSERT INTO chamberlain.deleted_tenant (id, name, deleted_by, trace_id, head_position, head_digest)
VALUES ($1, $2, $3, $4, $5, $6)

-- name: find_all
-- Find all records in the order of the deletions.
SELECT id, name, deleted_at, deleted_by, head_position, head_digest FROM chamberlain.deleted_tenant ORDER BY number

-- name: tables
-- List the tables of tenants with their key columns, without those of the schemas in $1. Secrets are never exported:
-- neither encrypted ones nor their proofs.
SELECT format('%I.%I', n.nspname, c.relname) AS name,
    (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY array_position(i.indkey::smallint[], a.attnum))
        FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
        WHERE i.indrelid = c.oid AND i.indisprimary) AS key,
    (SELECT string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        AND NOT (a.attname ~ 'secret' OR a.attname = 'sealed')) AS shown,
    ARRAY(SELECT format('%I.%I', fn.nspname, f.relname) FROM pg_constraint k
        JOIN pg_class f ON f.oid = k.confrelid JOIN pg_namespace fn ON fn.oid = f.relnamespace
        WHERE k.conrelid = c.oid AND k.contype = 'f' AND k.confrelid <> c.oid) AS parents
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute t ON t.attrelid = c.oid AND t.attname = 'tenant_id' AND NOT t.attisdropped
WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND has_table_privilege(c.oid, 'DELETE')
AND n.nspname <> ALL ($1)
ORDER BY 1

-- name: running
-- Count the running jobs of a tenant.
SELECT count(*) AS running FROM chamberlain.job WHERE tenant_id = $1 AND lease_until > now()
