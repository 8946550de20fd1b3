-- SPDX-License-Identifier: Apache-2.0
-- Groups and mailboxes are read by mark and id (sql/observed_groups.sql, sql/observed_mailboxes.sql); only old processes
-- read them by mark alone.
DROP FUNCTION IF EXISTS directory.observe_groups;
DROP FUNCTION IF EXISTS directory.observe_mailboxes;
