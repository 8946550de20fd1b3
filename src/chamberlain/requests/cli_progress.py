"""How a request comes along, on standard error: on a terminal a picture that changes, else a line for each change."""

import sys
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from chamberlain.cli.output import say
from chamberlain.core.text import one_line
from chamberlain_client.events import ApprovalChanged, Happening, StateChanged, StepChanged
from chamberlain_client.models import RequestStep

if TYPE_CHECKING:
    from rich.text import Text


class Progress(Protocol):
    """Something that shows what happens, for as long as a block runs."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None: ...
    def show(self, happening: Happening) -> None:
        """Show what has happened."""


def progress() -> Progress:
    """What fits where standard error leads."""
    return _OnTerminal() if sys.stderr.isatty() else _InLines()


def told(happening: Happening) -> str:
    """What has happened, in one line."""
    match happening:
        case StateChanged(request=request):
            reason = f": {request.waiting.reason}" if request.waiting else ""
            blocked = ", and nobody was found who may decide" if request.blocked else ""
            return one_line(f"{request.display_name}: {request.state}{blocked}{reason}")
        case StepChanged(step=step):
            return one_line(_of_step(step))
        case ApprovalChanged(approval=approval):
            names = ", ".join(approver.display_name for approver in approval.approvers) or "nobody"
            return one_line(f"  approval {approval.level}: {approval.state} ({names})")


def _of_step(step: RequestStep) -> str:
    why = step.error or step.reason
    return f"  {step.title}: {step.state}" + (f": {why}" if why else "")


class _InLines:
    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Nothing to put away."""

    def show(self, happening: Happening) -> None:
        say(told(happening))


class _OnTerminal:
    """The state on top, below it every step and level of approval as it is now."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.live import Live

        self._state = ""
        self._parts: dict[str, str] = {}
        console = Console(stderr=True, highlight=False, markup=False, emoji=False)
        self._live = Live(console=console, refresh_per_second=10, get_renderable=self._picture)

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._live.stop()

    def show(self, happening: Happening) -> None:
        match happening:
            case StateChanged():
                self._state = told(happening)
            case StepChanged(step=step):
                self._parts[step.name] = told(happening)
            case ApprovalChanged(approval=approval):
                self._parts[f"approval {approval.level}"] = told(happening)
        self._live.refresh()

    def _picture(self) -> "Text":
        from rich.text import Text

        return Text("\n".join((self._state, *self._parts.values())))
