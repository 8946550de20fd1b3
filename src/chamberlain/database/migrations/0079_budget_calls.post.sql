-- chamberlain.take_budget_calls replaces it (sql/budgets.sql).
DROP FUNCTION IF EXISTS chamberlain.take_from_budget(
    text, uuid, double precision, double precision, double precision, double precision, timestamptz
);
