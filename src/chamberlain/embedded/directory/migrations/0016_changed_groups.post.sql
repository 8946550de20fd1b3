-- SPDX-License-Identifier: Apache-2.0
-- Changed groups are summaries (sql/changed_groups.sql); only old processes read them whole.
DROP FUNCTION IF EXISTS directory.group_changes;
