-- SPDX-License-Identifier: Apache-2.0
-- Lists of mailboxes are summaries, and mailboxes are read by id (sql/mailboxes_by_id.sql); only old processes list them
-- whole.
DROP FUNCTION IF EXISTS directory.list_mailboxes;
