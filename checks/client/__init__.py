# SPDX-License-Identifier: Apache-2.0
"""The generator of the SDK: models and synchronous client.

`python3 dev.py client` writes both, and `python3 dev.py check` compares them with a new generation. The generator
imports the service. The SDK does not.
"""
