-- SPDX-License-Identifier: Apache-2.0
-- POST /collab/v1/groups/ with so many members, every request with another display name.
done = dofile("bench/measuring/said.lua")

local members = {}
for number = 1, tonumber(os.getenv("BENCH_MEMBERS")) do
    members[number] = string.format('"be9c0000-0000-4000-8000-%012d"', number)
end
local after = '", "templateId": "' .. os.getenv("BENCH_TEMPLATE") .. '", "members": [' .. table.concat(members, ",") .. "]}"

request = dofile("bench/measuring/posts.lua")("/collab/v1/groups/", function(unique)
    return '{"displayName": "Bench ' .. unique .. after
end)
