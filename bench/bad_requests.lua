-- SPDX-License-Identifier: Apache-2.0
-- Requests that are wrong in all sorts of ways, in turn. Each has to be refused with one of the statuses that they are refused with.
local paths, headers, bodies, expected = {}, {}, {}, {}
for line in io.lines(os.getenv("BENCH_BAD")) do
    local status, path, is_signed_in, body = line:match("^(%d+)\t(%S+)\t(%d)\t(.*)$")
    local number = #paths + 1
    paths[number], bodies[number], expected[tonumber(status)] = path, body, true
    headers[number] = {["Content-Type"] = "application/json"}
    if is_signed_in == "1" then
        headers[number]["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")
    end
end
local count = 0
unexpected = 0

local running
setup = function(thread)
    running = thread
end

request = function()
    count = count + 1
    local number = 1 + count % #paths
    return wrk.format("POST", paths[number], headers[number], bodies[number])
end

response = function(status)
    if not expected[status] then
        unexpected = unexpected + 1
    end
end

local said = dofile("bench/measuring/said.lua")
done = function(summary, latency)
    -- Refused is what they ought to be: what counts as a fault here is any other answer.
    summary.errors.status = running:get("unexpected")
    said(summary, latency)
end
