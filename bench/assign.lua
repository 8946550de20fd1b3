-- SPDX-License-Identifier: Apache-2.0
-- PATCH /admin/collab/v1/manage/groups/{groupId}/ with both fields, the groups in turn, and each time with something else than
-- the group has: the policy is another one in every run, the template in every pass.
done = dofile("bench/measuring/said.lua")

local headers = {["Content-Type"] = "application/json", ["Authorization"] = "Bearer " .. os.getenv("BENCH_TOKEN")}
local policy = 1000 + os.getenv("BENCH_RUN")
local count = 0

request = function()
    local path = string.format("/admin/collab/v1/manage/groups/be9c0000-0000-4000-8000-%012x/", count % 1000)
    local template = 1 + math.floor(count / 1000) % 2
    count = count + 1
    local body = string.format(
        '{"templateId": "7e000000-0000-4000-8000-00000000002%d", "policyId": "90110000-0000-4000-8000-%012d"}',
        template, policy
    )
    return wrk.format("PATCH", path, headers, body)
end
