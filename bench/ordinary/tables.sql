-- SPDX-License-Identifier: Apache-2.0
-- The tables of the ordinary way: copies of those of the limit. Requests are counted as the worker's role.
CREATE SCHEMA ordinary;
GRANT USAGE ON SCHEMA ordinary TO chamberlain_application, chamberlain_worker;
SELECT bench.copy_table(name, 'ordinary') FROM unnest(ARRAY['request', 'reservation', 'job', 'audit']) AS name;
GRANT SELECT ON ordinary.request TO chamberlain_worker;
CREATE POLICY all_tenants ON ordinary.request FOR SELECT TO chamberlain_worker USING (true);
