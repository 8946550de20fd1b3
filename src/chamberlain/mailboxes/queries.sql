-- SPDX-License-Identifier: Apache-2.0
-- name: find_ids
-- Return the ids of the mailboxes of these requests.
SELECT request_id, mailbox_id FROM chamberlain.mailbox WHERE request_id = ANY ($1)

-- name: find_reserved
-- Return the names (in comparison form) or addresses that are reserved.
SELECT value FROM chamberlain.reservation WHERE tenant_id = $1 AND kind = $2 AND value = ANY ($3)

-- name: find_holder
-- Find the mailbox with this name or address for a reader.
SELECT m.mailbox_id FROM chamberlain.reservation v JOIN chamberlain.mailbox m USING (request_id)
WHERE v.tenant_id = $1 AND v.kind = $2 AND v.value = $3 AND ($4::uuid IS NULL OR $4 = ANY (m.readers))

-- name: spans_ready
-- Choose the query plan by the number of scanned mailboxes.
SELECT count(*) = 3 AS ready FROM pg_index i WHERE i.indisvalid AND i.indexrelid IN (
    to_regclass('chamberlain.mailbox_span_name'), to_regclass('chamberlain.mailbox_span_address'),
    to_regclass('chamberlain.mailbox_span_alias')
)
