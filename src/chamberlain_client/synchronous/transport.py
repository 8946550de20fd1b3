# Made by `python3 dev.py twin` from asynchronous/transport.py, which is the one to be changed.
"""Sending calls: token, time-outs, and as many attempts as are allowed."""

from collections.abc import Generator, Mapping
from contextlib import contextmanager

import httpx2

from chamberlain_client.answers import Answer, refusal_of
from chamberlain_client.calls import Call
from chamberlain_client.clocks import Clock
from chamberlain_client.errors import AnswerNotUnderstood, ChamberlainError
from chamberlain_client.operations import Server
from chamberlain_client.retries import Retries, pause
from chamberlain_client.tokens import TokenSource, token_of
from chamberlain_client.transmission import told

# A stream says every 15 seconds that it lives.
_SILENCE = 45.0
# Many times what a page of the API may have: who sends more would fill the memory of this program.
_MOST_BYTES = 64 * 1024 * 1024


class Transport:
    """Sends calls to the addresses of one service."""

    def __init__(
        self,
        client: httpx2.Client,
        addresses: Mapping[Server, str],
        tokens: Mapping[Server, TokenSource],
        *,
        timeout: float,
        retries: Retries,
        clock: Clock,
    ) -> None:
        self._client = client
        self._addresses = addresses
        self._tokens = tokens
        self._timeout = timeout
        self._retries = retries
        self.clock = clock

    def send(self, call: Call) -> Answer:
        """The answer to a call, with as many attempts as are allowed. Raises ChamberlainError for any but 2xx."""
        begin, attempt = self.clock.now(), 0
        while True:
            attempt += 1
            try:
                return self._attempt(call)
            except ChamberlainError as error:
                self.wait_or_raise(call, error, attempt=attempt, begin=begin)

    def wait_or_raise(self, call: Call, error: ChamberlainError, *, attempt: int, begin: float) -> None:
        """Wait until the next attempt may begin; raises the error when there is to be none."""
        elapsed, chance = self.clock.now() - begin, self.clock.chance()
        seconds = pause(self._retries, call, error, attempt=attempt, elapsed=elapsed, chance=chance)
        if seconds is None:
            raise error
        self.clock.sleep(seconds)

    @contextmanager
    def stream(self, call: Call) -> Generator[httpx2.Response]:
        """The answer to a call while it comes in. Attempted once; raises ChamberlainError for any but 2xx."""
        request, until = self._request(call, read=_SILENCE), self._end(call)
        with told():
            response = self._client.send(request, stream=True)
            try:
                if not response.is_success:
                    raise self._refused(self._answer(response, until))
                yield response
            finally:
                response.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def _attempt(self, call: Call) -> Answer:
        request, until = self._request(call, read=self._timeout + call.waits), self._end(call)
        with told():
            response = self._client.send(request, stream=True)
            try:
                answer = self._answer(response, until)
            finally:
                response.close()
        if response.is_success:
            return answer
        raise self._refused(answer)

    def _request(self, call: Call, *, read: float) -> httpx2.Request:
        token = token_of(self._tokens[call.server])
        return self._client.build_request(
            call.method,
            self._addresses[call.server] + call.path,
            params=call.query or None,
            headers=[*call.headers, ("authorization", f"Bearer {token}")],
            content=call.content,
            timeout=httpx2.Timeout(self._timeout, read=read),
        )

    def _end(self, call: Call) -> float:
        return self.clock.now() + self._timeout + call.waits

    def _answer(self, response: httpx2.Response, until: float) -> Answer:
        """The whole answer, unless it is too long or does not end in time, though something always comes."""
        content = bytearray()
        for chunk in response.iter_bytes():
            content += chunk
            if len(content) > _MOST_BYTES:
                raise AnswerNotUnderstood(response.status_code, f"it has more than {_MOST_BYTES // 2**20} MiB")
            if self.clock.now() > until:
                raise httpx2.ReadTimeout("The answer does not end.", request=response.request)
        return Answer(response.status_code, dict(response.headers), bytes(content), self.clock.today())

    def _refused(self, answer: Answer) -> ChamberlainError:
        found = refusal_of(answer)
        return found or AnswerNotUnderstood(answer.status, "it is neither an answer nor a refusal")
