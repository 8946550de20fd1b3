# SPDX-License-Identifier: Apache-2.0
"""Deliver events to webhooks, and record the attempts.

A receiver can drop repeated calls by their id, which is that of the event. Calls run concurrently. Their reads and
writes are batched.
"""

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from chamberlain.changes.records import record_change
from chamberlain.core.ids import DeliveryId, EventId, TenantId
from chamberlain.database.batching import Batcher
from chamberlain.database.clock import ReadTime
from chamberlain.database.transactions import Database, Transaction, repeat_if_deadlocked
from chamberlain.events import outbox
from chamberlain.queue import jobs as queue_jobs
from chamberlain.queue.models import Claim, Job, JobKind
from chamberlain.queue.worker import JobTable
from chamberlain.template_admin import webhook_secrets, webhook_state
from chamberlain.template_admin.models import SigningSecrets, WebhookKey
from chamberlain.template_admin.webhook_secrets import WebhookSecrets
from chamberlain.webhooks import store
from chamberlain.webhooks.models import DeliveryResult, DeliveryState, DueDelivery, Reply, WebhookCall
from chamberlain.webhooks.rules import disable_change, next_attempt, reason_to_disable, webhook_disabled
from chamberlain.webhooks.sender import Send

# Error of an attempt that could not be signed.
UNSIGNED = "The call could not be signed: the encryption key of its secret is missing. The operator must add the key."


# Takes the outcome of a run, and the duration of the call in seconds, or None without a call.
ObserveDelivery = Callable[[str, float | None], None]


@dataclass(frozen=True, slots=True)
class _SignedDelivery:
    """A delivery with its signing secrets."""

    delivery: DueDelivery
    secrets: SigningSecrets


class WebhookJobs:
    """Deliver claimed jobs, each with its own outcome.

    `jitter` returns numbers from 0 to 1.
    """

    def __init__(
        self,
        *,
        database: Database,
        send: Send,
        secrets: WebhookSecrets,
        new_id: Callable[[], UUID],
        now: Callable[[], datetime],
        decision_time: ReadTime,
        jitter: Callable[[], float],
        observe: ObserveDelivery,
    ) -> None:
        self._database = database
        self._send = send
        self._secrets = secrets
        self._new_id = new_id
        self._now = now
        self._decision_time = decision_time
        self._jitter = jitter
        self._observe = observe
        self._loads: Batcher[tuple[TenantId, DeliveryId], _SignedDelivery | None] = Batcher(self._load)
        self._records: Batcher[DeliveryResult, None] = Batcher(self._record)

    async def deliver(self, claim: Claim) -> None:
        """Run the claimed jobs.

        Raises Unavailable if the database does not answer. Then the calls are repeated when the lease ends.
        """
        await asyncio.gather(*[self._run(claim.lease_id, job) for job in claim.jobs])

    async def _run(self, lease_id: UUID, job: Job) -> None:
        signed = await self._loads.submit((job.tenant_id, DeliveryId(job.subject)))
        if signed is None:
            async with self._database.across_tenants() as tx:
                await queue_jobs.complete(tx, lease_id, [job.id])
            return
        result = await self._attempt(lease_id, job, signed)
        await self._records.submit(result)
        outcome = "again" if result.after is not None else str(result.state)
        self._observe(outcome, None if result.reply is None else result.reply.duration.total_seconds())

    async def _attempt(self, lease_id: UUID, job: Job, signed: _SignedDelivery) -> DeliveryResult:
        """Make the call, unless the webhook is gone, inactive or disabled."""
        due = signed.delivery
        if due.url is None:
            return DeliveryResult(due, lease_id, job.id, DeliveryState.CANCELLED, None, None)
        if signed.secrets.values:
            call = WebhookCall(due.url, due.event_id, due.payload, signed.secrets.values, due.trace_id)
            reply = await self._send(call)
        else:
            reply = Reply.unsent(self._now(), UNSIGNED)
        state, after = next_attempt(reply, tries=due.tries + 1, jitter=self._jitter())
        return DeliveryResult(due, lease_id, job.id, state, reply, after)

    async def _load(self, wanted: Sequence[tuple[TenantId, DeliveryId]]) -> Sequence[_SignedDelivery | None]:
        async with self._database.across_tenants() as tx:
            found = {(each.tenant_id, each.id): each for each in await store.load_due(tx, wanted)}
            secrets = await self._signing(tx, {each.webhook for each in found.values() if each.url is not None})
        return [
            None
            if (each := found.get(key)) is None
            else _SignedDelivery(each, secrets.get(each.webhook, SigningSecrets()))
            for key in wanted
        ]

    async def _signing(self, tx: Transaction, webhooks: Collection[WebhookKey]) -> Mapping[WebhookKey, SigningSecrets]:
        """Read the secrets, and create missing ones.

        A webhook that came from a file has no secret before its first call.
        """
        found = await webhook_secrets.signing(tx, self._secrets.keyring, webhooks, now=self._now())
        if without := sorted(webhook for webhook, secrets in found.items() if not secrets.values):
            for webhook in without:
                await self._secrets.make_first(tx, *webhook)
            found = await webhook_secrets.signing(tx, self._secrets.keyring, webhooks, now=self._now())
        return found

    async def _record(self, results: Sequence[DeliveryResult]) -> Sequence[None]:
        # The calls are made, so a deadlock must not lose their outcomes.
        await repeat_if_deadlocked(lambda: self._write(results))
        return [None] * len(results)

    async def _write(self, results: Sequence[DeliveryResult]) -> None:
        async with self._database.across_tenants() as tx:
            await store.save_results(tx, results)
            await self._update_webhooks(tx, [each for each in results if each.was_called])

    async def _update_webhooks(self, tx: Transaction, results: Sequence[DeliveryResult]) -> None:
        """Update failure states, and disable webhooks that fail too long."""
        succeeded = {each.delivery.webhook for each in results if each.state is DeliveryState.SUCCEEDED}
        failed = _worst([each for each in results if each.state is not DeliveryState.SUCCEEDED])
        await webhook_state.recover(tx, sorted(succeeded))
        # The address may have changed during a call. Then its outcome says nothing about the new receiver.
        unchanged = await webhook_state.still_at(
            tx, {webhook: each.delivery.url or "" for webhook, each in failed.items()}
        )
        now = await self._decision_time(tx)
        for webhook, failing_since in (await webhook_state.fail(tx, sorted(unchanged), at=now)).items():
            await self._disable_if(tx, failed[webhook], failing_since, now)

    async def _disable_if(
        self, tx: Transaction, result: DeliveryResult, failing_since: datetime, now: datetime
    ) -> None:
        due = result.delivery
        reason = None if result.reply is None else reason_to_disable(result.reply, failing_since, now)
        if reason is None:
            return
        name = await webhook_state.disable(tx, due.webhook, reason=reason, at=now)
        if name is None:
            return
        await outbox.cancel_pending(tx, *due.webhook)
        event_id = EventId(self._new_id())
        event = webhook_disabled(event_id, *due.webhook, url=due.url or "", reason=reason, now=now)
        await record_change(tx, disable_change(due, event, template_name=name, reason=reason))


def _worst(failures: Sequence[DeliveryResult]) -> Mapping[WebhookKey, DeliveryResult]:
    """Choose one failure of each webhook, preferably one that ends the subscription."""
    in_order = sorted(failures, key=lambda each: each.reply is not None and each.reply.is_gone)
    return {each.delivery.webhook: each for each in in_order}


JOBS = JobTable(WebhookJobs, {JobKind.WEBHOOK_DELIVER: WebhookJobs.deliver})
