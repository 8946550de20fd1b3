# SPDX-License-Identifier: Apache-2.0
"""Demo data of the sample tenant: people, orders, and the way back.

`people` and `orders` are tables without I/O. `records` writes what others do in a real directory, and the past figures.
`chamberlain.app.commands.demo` requests everything else through the API.
"""
