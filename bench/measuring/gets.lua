-- SPDX-License-Identifier: Apache-2.0
-- GET of the paths in a file, one after another, each time from the beginning to the end.
done = dofile("bench/measuring/said.lua")

local headers = {["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")}
local paths = {}
for path in io.lines(os.getenv("BENCH_PATHS")) do
    paths[#paths + 1] = path
end
local count = 0

request = function()
    count = count + 1
    return wrk.format("GET", paths[1 + count % #paths], headers)
end
