"""From flags and a YAML file to a run folder, for metrics that read files alone: no model of pictures, no pictures."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from sgeval import situation, temporal
from sgeval.cli.ending import say
from sgeval.cli.scoring import check_folder, options_in, read_settings, refuse_existing
from sgeval.data.source import check_split, read_source, source_files
from sgeval.errors import SgevalError, shown
from sgeval.judges import make_judge
from sgeval.judges.make import is_language_model
from sgeval.judges.tally import ACCOUNT, Tally, write_account
from sgeval.judges.verdicts import Judge, Pair, Verdict
from sgeval.runs import Run, Scoring, describe_file, read_own, read_run, write_run
from sgeval.schemas import Kind

VERDICTS = "verdicts"
"""The folder of a run that keeps what a language model said."""
JUDGE_OPTIONS = "judge_options"
READING = ("format", "references_format", "split", "limit", "name")


@dataclass(frozen=True)
class Metric:
    """What the command line needs to know of such a metric."""

    options: type[Any]
    kind: Kind
    score: Callable[["Job", Any], Scoring]
    more: tuple[str, ...] = ()
    """Settings beyond those of reading and the options."""

    def settings(self) -> tuple[str, ...]:
        """What may stand in a YAML file."""
        return (*READING, *self.more, *(item.name for item in fields(self.options)))


@dataclass(frozen=True)
class Job:
    """One run as the command line asks for it."""

    metric: Metric
    predictions: Path
    references: Path
    out: Path
    settings: Mapping[str, Any]

    @classmethod
    def make(cls, metric: Metric, given: Mapping[str, Any]) -> "Job":
        """The job of flags over the settings of their YAML file."""
        names, config = metric.settings(), given["config"]
        flags = {name: given[name] for name in names if given.get(name) is not None}
        settings = {**(read_settings(config, names) if config else {}), **flags}
        return cls(metric, given["predictions"], given["references"], given["out"], settings)

    def options(self) -> Any:
        """The metric's options; the command line bootstraps by default."""
        return options_in(self.settings, self.metric.options)

    def form(self, flag: str) -> str:
        """The form of a file. Predictions and references have one each: a data set's folder holds no predictions."""
        key = "format" if flag == "predictions" else "references_format"
        return str(self.settings.get(key) or "sgeval")

    def inputs(self) -> dict[str, Any]:
        """What the run is made from."""
        kind = self.metric.kind
        sources = {flag: (path, self.form(flag)) for flag, path in self.files()}
        check_split(self.settings.get("split"), sources.values(), kind)
        found: dict[str, Any] = {}
        for flag, (path, form) in sources.items():
            found |= {flag: describe_file(path, source_files(path, form, kind))}
        found |= {"format": self.form("predictions"), "references_format": self.form("references")}
        names = ("split", "limit", *self.metric.more)
        found |= {key: self.settings[key] for key in names if self.settings.get(key)}
        if JUDGE_OPTIONS in self.metric.more and isinstance(self.judge, LlmLike):
            # What moves no verdict stands in judging.json: the results do not depend on how many requests went at once.
            found[JUDGE_OPTIONS] = {key: value for key, value in self.judge.settings.items() if value not in (None, {})}
        return found

    @cached_property
    def judge(self) -> Judge:
        """The judge that the settings name, made once; see `judge_of`."""
        return judge_of(self)

    def files(self) -> tuple[tuple[str, Path], ...]:
        """What is read, by the name of its flag."""
        return ("predictions", self.predictions), ("references", self.references)

    def rows(self, flag: str) -> list[Any]:
        """The rows of a file, or the records of a data set's folder."""
        path, split = dict(self.files())[flag], self.settings.get("split")
        return read_source(path, self.form(flag), split=split, kind=self.metric.kind)


def run_job(job: Job, *, overwrite: bool = False) -> Run:
    """Score and write the run folder."""
    options = job.options()
    check_folder(job.out)
    inputs = job.inputs()
    if not overwrite and not _lacks_verdicts(job, inputs):
        refuse_existing(job.out)
    scoring = job.metric.score(job, options)
    write_run(job.out, str(job.settings.get("name") or job.predictions.stem), scoring, inputs)
    if JUDGE_OPTIONS in job.metric.more:
        keep_account(job)
    return read_own(job.out)


def _lacks_verdicts(job: Job, inputs: Mapping[str, Any]) -> bool:
    """Whether `out` holds the run of this very job, with verdicts missing: it goes on where it stopped. Options of the judge
    may be others as far as they are not in its name: a higher limit of cost, more patience."""
    try:
        run = read_run(job.out)
    except SgevalError:
        return False
    if not run.result.get("n_unjudged_pairs") or run.result.get("judge") != job.judge.name:
        return False
    before, now = ({**of, JUDGE_OPTIONS: None} for of in (run.inputs, json.loads(json.dumps(inputs))))
    return bool(run.options == job.options() and before == now)


def keep_account(job: Job) -> None:
    """Write what a language model's judging came to; of other judges there is nothing to tell."""
    if isinstance(job.judge, LlmLike):
        write_account(job.out, job.judge.name, job.judge.tally, job.judge.running)
    else:
        (job.out / ACCOUNT).unlink(missing_ok=True)


def _score_roles(job: Job, options: Any) -> Scoring:
    limit = job.settings.get("limit")
    return situation.score_rows(job.rows("predictions"), job.rows("references"), options, limit=limit)


def _score_temporal(job: Job, options: Any) -> Scoring:
    rows = (job.rows("predictions"), job.rows("references"))
    try:
        return temporal.score(*rows, judge=job.judge, limit=job.settings.get("limit"), options=options)
    finally:
        tell_account(job.judge)


def tell_account(judge: Judge) -> None:
    """Say what a language model's judging came to."""
    if isinstance(judge, LlmLike):
        for line in judge.tally.sentences():
            say(f"judge: {line}")


def judge_of(job: Job) -> Judge:
    """The judge that the settings name. What a language model says is kept in the run folder, unless `cache` names another:
    the same command, given again, goes on where it stopped."""
    name, options = job.settings.get("judge"), dict(job.settings.get(JUDGE_OPTIONS) or {})
    if "api_key" in options:  # options stand in the results
        raise SgevalError(
            "judge_options: expected no api_key, got one; the environment holds keys (SGEVAL_JUDGE_API_KEY)"
        )
    if isinstance(name, str) and is_language_model(name):
        options.setdefault("cache", job.out / VERDICTS)
    return make_judge(name, **options)


def to_ask(job: Job) -> list[Pair]:
    """The pairs that scoring would ask its judge."""
    rows = (job.rows("predictions"), job.rows("references"))
    return temporal.pairs_to_ask(*rows, job.settings.get("limit"), job.options())


def ask_all(job: Job) -> Tally:
    """Ask a language model what scoring would ask it, and keep the verdicts. Other judges keep none."""
    if not isinstance(job.judge, LlmLike):
        raise SgevalError(
            f"judge: expected provider/model of a language model, got {shown(job.judge.name)}, which asks nobody"
        )
    check_folder(job.out)
    asked = to_ask(job)
    try:
        job.judge(asked)
    finally:
        tell_account(job.judge)
    keep_account(job)
    return job.judge.tally


def estimate(job: Job) -> dict[str, Any]:
    """What a judge would be asked, before anything is: distinct pairs of labels by kind, and of a language model calls,
    tokens and dollars."""
    asked = to_ask(job)
    kinds = Counter(pair.kind for pair in asked)
    found: dict[str, Any] = {"pairs": len(asked), **{f"{kind}_pairs": number for kind, number in sorted(kinds.items())}}
    if isinstance(job.judge, LlmLike):
        found |= asdict(job.judge.estimate(asked))
    return found


@runtime_checkable
class LlmLike(Protocol):
    """A judge that can say beforehand what asking costs, and afterwards how it went."""

    name: str
    settings: dict[str, Any]
    running: dict[str, Any]
    tally: Tally

    def __call__(self, pairs: Sequence[Pair]) -> Sequence[Verdict]:
        """One verdict a pair."""

    def estimate(self, pairs: Sequence[Pair]) -> Any:
        """Calls, tokens and dollars."""


ROLE_VALUES = Metric(situation.Options, "image", _score_roles)
TEMPORAL = Metric(temporal.Options, "video", _score_temporal, ("judge", JUDGE_OPTIONS))
