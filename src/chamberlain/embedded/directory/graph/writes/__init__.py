# SPDX-License-Identifier: Apache-2.0
"""The writes of the HTTP surface, as Graph has them.

They exist only while the server is writable. A handler decodes the body (`bodies.py`), calls the functions of
`chamberlain.embedded.directory.writes` in one transaction, and answers with what a read returns.
"""
