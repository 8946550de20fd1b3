# SPDX-License-Identifier: Apache-2.0
"""Switch speed tricks off in a measured service. Python imports this module when it starts."""

import os

if without := os.environ.get("BENCH_WITHOUT"):
    from chamberlain.fastpath import ENABLED

    ENABLED.difference_update(without.split(","))
