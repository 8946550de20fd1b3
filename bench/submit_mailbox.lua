-- SPDX-License-Identifier: Apache-2.0
-- POST /mail/v1/mailboxes/ with the four properties that the API names as required, every request with another name.
done = dofile("bench/measuring/said.lua")

local after = '", "templateId": "' .. os.getenv("BENCH_TEMPLATE")
    .. '", "permissions": {"' .. os.getenv("BENCH_USER") .. '": "FullAccess"}}'

request = dofile("bench/measuring/posts.lua")("/mail/v1/mailboxes/", function(unique)
    return '{"name": "Bench ' .. unique .. '", "displayName": "Bench ' .. unique .. after
end)
