-- SPDX-License-Identifier: Apache-2.0
-- POST /collab/v1/groups/, every request with another display name, by the tokens in turn.
done = dofile("bench/measuring/said.lua")

local tokens = {}
for token in os.getenv("BENCH_TOKENS"):gmatch("%S+") do
    tokens[#tokens + 1] = {["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. token}
end
local before, after = '{"displayName": "Bench ' .. os.getenv("BENCH_RUN") .. " ", '", "templateId": "' .. os.getenv("BENCH_TEMPLATE") .. '"}'
local count = 0

request = function()
    count = count + 1
    return wrk.format("POST", "/collab/v1/groups/", tokens[1 + count % #tokens], before .. count .. after)
end
