-- SPDX-License-Identifier: Apache-2.0
\set number random(0, 999)
\set pass random(0, 3)
SELECT bench.assign('e57a7e00-0000-4000-8000-000000000001', :number, :pass, gen_random_uuid(), 'c11e0000-0000-4000-8000-000000000001', 'ada00000-0000-4000-8000-000000000001', '4bf92f3577b34da6a3ce929d0e0e4736');
