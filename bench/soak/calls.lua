-- SPDX-License-Identifier: Apache-2.0
-- The mix of calls: of ten calls five ask for a group, one for a team with a webhook, and one for a mailbox; three look
-- at the newest requests. Each connection pauses between two calls, which keeps the rate constant while answers come in
-- time.
done = dofile("bench/measuring/said.lua")

local function headers_of(token)
    return {["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. token}
end
local collab, mail = headers_of(os.getenv("BENCH_TOKEN")), headers_of(os.getenv("BENCH_MAIL_TOKEN"))
local group, team, shared = os.getenv("BENCH_TEMPLATE"), os.getenv("BENCH_TEAM_TEMPLATE"), os.getenv("BENCH_MAILBOX_TEMPLATE")
local name = "Soak " .. os.getenv("BENCH_RUN") .. " "
local pause = tonumber(os.getenv("BENCH_PAUSE"))
local count = 0

-- Around the middle, so that connections do not call in step.
function delay()
    return math.random(0, 2 * pause)
end

function request()
    count = count + 1
    local turn = count % 10
    if turn == 0 then
        return wrk.format("POST", "/mail/v1/mailboxes/", mail,
            '{"name": "' .. name .. count .. '", "displayName": "' .. name .. count .. '", "templateId": "' .. shared .. '"}')
    elseif turn <= 6 then
        return wrk.format("POST", "/collab/v1/groups/", collab,
            '{"displayName": "' .. name .. count .. '", "templateId": "' .. (turn == 6 and team or group) .. '"}')
    end
    return wrk.format("GET", "/requests/v1/?limit=20", collab)
end
