"""End a command whose call of the service failed."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from chamberlain.cli.errors import ExitCode, Misused
from chamberlain.cli.output import say
from chamberlain.cli.sign_in import ProviderUnreachable, SignInEnded, SignInFailed
from chamberlain.cli.sign_ins import SignInsUnreadable
from chamberlain_client import errors

_SIGN_IN = "Sign in: chamberlain login."


@contextmanager
def told_refusals() -> Iterator[None]:
    """End the command for expected errors, with their sentences and an exit code that a script can use."""
    try:
        yield
    except errors.Refused as refused:
        raise ended(_code(refused), *_sentences(refused)) from refused
    except errors.Unreachable as error:
        raise ended(ExitCode.UNREACHABLE, str(error), *_sent(error)) from error
    except (errors.AnswerNotUnderstood, ProviderUnreachable) as error:
        raise ended(ExitCode.UNREACHABLE, str(error)) from error
    except errors.NotYet as error:
        raise ended(ExitCode.NOT_FINISHED, str(error)) from error
    except SignInEnded as error:
        raise ended(ExitCode.NOT_ALLOWED, f"{error} {_SIGN_IN}") from error
    except SignInFailed as error:
        raise ended(ExitCode.NOT_ALLOWED, str(error)) from error
    except (Misused, errors.NotAnId) as error:
        raise ended(ExitCode.MISUSED, str(error)) from error
    except (SignInsUnreadable, errors.ChamberlainError) as error:
        raise ended(ExitCode.FAILED, str(error)) from error


def ended(code: ExitCode, *sentences: str) -> typer.Exit:
    """Print the sentences, and return the exception that ends the command."""
    for sentence in sentences:
        say(sentence)
    return typer.Exit(int(code))


def _code(refused: errors.Refused) -> ExitCode:
    match refused.status:
        case 401 | 403:
            return ExitCode.NOT_ALLOWED
        case 404:
            return ExitCode.NOT_THERE
        case 429 | 503:
            return ExitCode.UNREACHABLE
        case _:
            return ExitCode.FAILED


def _sentences(refused: errors.Refused) -> Iterator[str]:
    yield refused.detail or f"The service refused it ({refused.status} {refused.code})."
    for fault in refused.faults:
        yield f"  {fault.pointer or '/'}: {fault.detail}"
    if refused.faults_are_truncated:
        yield "  There are more errors."
    if refused.conflicting_id is not None:
        yield f"It conflicts with {refused.conflicting_id}."
    if refused.status == 401:
        # The saved token has not expired, so `login` alone would keep it.
        yield "Sign in again: chamberlain login --again."
    if refused.retry_after is not None:
        yield f"It is worth trying again after {refused.retry_after:.0f} s."
    yield f"code {refused.code}" if refused.trace_id is None else f"code {refused.code}, traceId {refused.trace_id}"


def _sent(error: errors.Unreachable) -> Iterator[str]:
    if error.was_sent:
        yield "It was sent, and may have been carried out. To send it again with the same --idempotency-key is safe."
