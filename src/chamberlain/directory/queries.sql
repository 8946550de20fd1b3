-- SPDX-License-Identifier: Apache-2.0
-- name: take
-- Take calls from a budget for a slice of a second.
SELECT granted, wait FROM chamberlain.take_budget_calls($1, $2, $3, $4, $5, $6, $7, $8)

-- name: slow
-- Halve the rate of a budget.
SELECT chamberlain.slow_budget($1, $2, $3)
