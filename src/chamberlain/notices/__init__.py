"""Outgoing mail: notices on their way to a mail server (SMTP).

How a message is put together and handed over stands here, and nothing else: who is told what in which words is for
`rules/notices.py` and its neighbours to say, when it is tried again for `notifications/jobs.py`. It has nothing to do
with the mailboxes that the service makes.
"""
