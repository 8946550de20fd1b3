"""Handlers: one file for each noun, with its wire models. A handler decodes, asks and answers.

No endpoint imports another; what several need lives one package up. No rule and no status of an error may live here.
"""
