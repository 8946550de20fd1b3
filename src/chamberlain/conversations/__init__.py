# SPDX-License-Identifier: Apache-2.0
"""Conversations with approvers in a chat: questions and answers.

A reaction or a reply decides, by the rules of requests/decisions.py. The port hides the chat; matrix.py is the only
adapter. Nothing here creates or changes a request in another way.
"""
