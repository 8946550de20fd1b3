-- POST /collab/v1/groups/, every request with another display name.
done = dofile("bench/measuring/said.lua")

local headers = {["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")}
local before = '{"displayName": "Bench ' .. os.getenv("BENCH_RUN") .. " "
local after = '", "templateId": "' .. os.getenv("BENCH_TEMPLATE") .. '"}'
local count = 0

function request()
    count = count + 1
    return wrk.format("POST", "/collab/v1/groups/", headers, before .. count .. after)
end
