-- SPDX-License-Identifier: Apache-2.0
-- POST /collab/v1/groups/, every request with another display name.
done = dofile("bench/measuring/said.lua")

local after = '", "templateId": "' .. os.getenv("BENCH_TEMPLATE") .. '"}'

request = dofile("bench/measuring/posts.lua")("/collab/v1/groups/", function(unique)
    return '{"displayName": "Bench ' .. unique .. after
end)
