-- SPDX-License-Identifier: Apache-2.0
-- name: find_administrators
-- Find the administrators of a tenant; None for an unknown tenant.
SELECT administrator_users, administrator_groups FROM chamberlain.administrators_of($1)
