-- Groups are asked for by several values in one call (sql/groups_by_values.sql); by one only old processes ask.
DROP FUNCTION IF EXISTS directory.groups_by_value;
