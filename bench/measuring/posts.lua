-- SPDX-License-Identifier: Apache-2.0
-- JSON posted to one path, every request with another body: `body_of` makes it of a text that no other request has.
return function(path, body_of)
    local headers = {["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")}
    local run = os.getenv("BENCH_RUN") .. " "
    local count = 0
    return function()
        count = count + 1
        return wrk.format("POST", path, headers, body_of(run .. count))
    end
end
