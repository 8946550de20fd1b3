"""Runs of policies: what happens with each group and site of a claim, and the parts in which that is done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from chamberlain.guests.models import FindingSubject
from chamberlain.guests.models_assignment_tasks import Place
from chamberlain.guests.policies.evaluation import Evaluation, Present, evaluate
from chamberlain.guests.policies.evaluation_policy_tasks import PolicyTask, Quiet
from chamberlain.guests.policies.models import PolicyRules
from chamberlain.guests.policies.timers import Clock
from chamberlain.queue.models import Job


@dataclass(frozen=True, slots=True)
class Run:
    """What happens with one group or site, and the job that it happens by; `quiet` when nothing is left to tell. It is
    over when no action of it is still to be asked for, and `is_last` of the portions that these are asked for in."""

    job: Job
    task: PolicyTask
    evaluation: Evaluation
    quiet: Quiet | None = None
    is_over: bool = True
    is_last: bool = True

    @property
    def subject(self) -> FindingSubject:
        """The group or site."""
        return self.task.subject

    @property
    def rules(self) -> PolicyRules:
        """What its policy asks for, when it has one."""
        return PolicyRules(None, None, None, None) if self.task.policy is None else self.task.policy.rules


def begun(job: Job, task: PolicyTask, present: Present, now: datetime) -> Run:
    """The run of a group or site with those who are there."""
    policy = None if task.policy is None else task.policy.applied(now=now)
    evaluation = evaluate(task.subject, policy, present, task.clocks, now=now, accepted=task.accepted)
    quiet = None if task.policy is None else task.policy.quiet_after(present, evaluation)
    return Run(job, task, evaluation, quiet, is_over=not evaluation.due)


def parts_of(
    wanted: Mapping[Place, Job], present: Mapping[Place, Present], most_guests: int
) -> Iterator[Mapping[Place, Job]]:
    """The groups and sites in parts that have so many guests together, or are one."""
    part: dict[Place, Job] = {}
    guests = 0
    for place, job in wanted.items():
        number = len(present[place].guests) if place in present else 0
        if part and guests + number > most_guests:
            yield part
            part, guests = {}, 0
        part[place] = job
        guests += number
    yield part


def portions_of(runs: Sequence[Run], most_acts: int) -> Iterator[Sequence[Run]]:
    """The runs with their actions in portions of so many at most. One that has more is in several."""
    portion: list[Run] = []
    left = most_acts
    for run in runs:
        due = run.evaluation.due
        start = 0
        while start < len(due):
            if left == 0:
                yield portion
                portion, left = [], most_acts
            taken = due[start : start + left]
            start += len(taken)
            left -= len(taken)
            portion.append(replace(with_due(run, taken), is_last=start == len(due)))
    if portion:
        yield portion


def with_due(run: Run, due: tuple[Clock, ...]) -> Run:
    """The same run with these actions alone."""
    return replace(run, evaluation=replace(run.evaluation, due=due))
