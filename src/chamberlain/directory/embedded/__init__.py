# SPDX-License-Identifier: Apache-2.0
"""The adapter between the ports and the embedded directory.

The directory itself is a separate product in `chamberlain.embedded`. No decision about the desired state may be here.
"""
