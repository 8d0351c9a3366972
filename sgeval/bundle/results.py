"""What runs earned in a bundle, as the `.eval_results/*.yaml` that the Hub reads from a model's repository."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import yaml

from sgeval import comparison
from sgeval.bundle.building import check_repo
from sgeval.bundle.contents import REPOSITORY
from sgeval.bundle.manifests import Manifest, read_manifest
from sgeval.bundle.specs import Task, read_specs
from sgeval.bundle.splits import digest
from sgeval.bundle.strict_yaml import parse_yaml
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.files import atomic_write
from sgeval.protocol import differing_parts, name_own_template, protocol
from sgeval.report.text import NOTHING, cut, percent
from sgeval.runs import Run
from sgeval.signature import parts_of

if TYPE_CHECKING:
    from huggingface_hub import EvalResultEntry

FOLDER = ".eval_results"
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
NO_ADDRESS = frozenset(" \"'<>\\^`{|}")
"""Characters that an address has only when somebody means to leave it."""
MOST = 1e9  # no score is beyond it; a stranger's number may be
OPEN = ("weights", "act", "text", "image", "score", "vocab", "references", "objects")
"""Parts of a protocol that no setting says: they follow from the model and the data. A task may pin them."""


def shown_score(run: Run, key: str) -> str:
    """A score of a run as `sgeval compare` and the report show it: in percent or times 100, two decimals."""
    value = run.result.get(key)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) <= MOST:
        return NOTHING
    return percent(run.form.factor * value)


def differing(run: Run, task: Task, version: str) -> list[tuple[str, str, str]]:
    """Where a run's protocol is not that of the task: part, the task's value, the run's; empty where absent.

    Parts that moved nothing in this run do not count (see `sgeval.protocol.protocol`), nor do those that neither the
    settings nor the pins of the task say. `version` is the one of sgeval that the bundle was made with.
    """
    here = protocol(run, (task.key,))
    idle = {name for name in parts_of(run.signature) if name not in here}
    asked = name_own_template(task.metric, {**task.protocol(), "version": version})
    there = {name: value for name, value in asked.items() if name not in idle}
    said = {name: value for name, value in here.items() if name in there or name not in OPEN}
    return list(differing_parts(there, said))


def entry_of(
    run: Run,
    task: Task,
    bundle: Manifest,
    *,
    repo: str | None = None,
    revision: str | None = None,
    date: str | None = None,
    source_url: str | None = None,
    source_name: str | None = None,
) -> "EvalResultEntry":
    """A run's number in a task, for the Hub. The value is the number that `sgeval compare` and the report show; the notes
    hold the system's name, the split with its digest, the interval and the signature.

    Raises `SgevalError` for a run of another metric, over other ids, of another protocol (with the part that differs), on
    other references or with a vocabulary of its own (where the bundle was built with the data), and for a score that is
    withheld or undefined.
    """
    from huggingface_hub import EvalResultEntry

    place = f"{one_line(str(run.folder))}, task {task.id}"
    if run.metric != task.metric:
        raise SgevalError(f"{place}: expected a run of {task.metric}, got one of {run.metric}")
    split = bundle.split(task.config, task.split)
    if split.ids_sha256 is None:
        raise SgevalError(
            f"{place}: expected a bundle that knows the ids of {task.config}/{task.split}, got one built without the data; "
            f"build it with --data {task.config}=FOLDER"
        )
    if words := _other_ids(comparison.units(run), bundle.ids(split)):
        raise SgevalError(f"{place}: expected the {split.number:,} ids of {split.name}, got others: {words}")
    if split.references_sha256 is not None:
        task = replace(task, pins={"references": split.references_sha256[:12], **task.pins})
        if more := [name for name in run.inputs if name.startswith("vocabulary")]:
            raise SgevalError(f"{place}: expected the vocabulary of the references, got the input {shown(more[0])}")
    if parts := differing(run, task, bundle.sgeval):
        words = "; ".join(f"{name}: expected {there or 'none'}, got {here or 'none'}" for name, there, here in parts)
        raise SgevalError(f"{place}: another protocol: {one_line(words)}")
    text = shown_score(run, task.key)
    if text == NOTHING:
        raise SgevalError(f"{place}: expected a number under {task.key}, got none; it is undefined or withheld")
    comparison.check_score(run, task.key)
    ends = [shown_score(run, f"{task.key}_{end}") for end in ("low", "high")]
    interval = "" if NOTHING in ends else f"95 % interval {' to '.join(ends)}; "
    notes = f"{one_line(cut(run.name))}; {split.name}; {interval}{one_line(str(run.result['signature']))}"
    return EvalResultEntry(
        repo or bundle.repo,
        task.id,
        float(text.replace(",", "")),
        dataset_revision=_revision(revision),
        date=_date(date),
        source_url=_url(source_url, source_name),
        source_name=None if source_name is None else one_line(cut(source_name)),
        notes=notes,
    )


def _other_ids(here: frozenset[str], there: frozenset[str]) -> str:
    """Which ids are missing or too many, some of them by name; empty where they are the same."""
    words = []
    for what, ids in (("missing", there - here), ("unknown", here - there)):
        if ids:
            words.append(f"{len(ids):,} {what} ({comparison.first_ids(ids)})")
    return " and ".join(words)


def task_for(run: Run, tasks: Sequence[Task], bundle: Manifest, name: str | None = None) -> Task:
    """The task of a run: the one named, else the only one of its metric over its ids."""
    if name is not None:
        one_of("task", name, [task.id for task in tasks])
        return next(task for task in tasks if task.id == name)
    known = digest(comparison.units(run))
    of_metric = [task for task in tasks if task.metric == run.metric]
    fitting = [task for task in of_metric if bundle.split(task.config, task.split).ids_sha256 == known]
    place = one_line(str(run.folder))
    if not fitting:
        raise SgevalError(f"{place}: {_why_none(run, tasks, bundle)}")
    if len(fitting) > 1:
        names = ", ".join(task.id for task in fitting)
        raise SgevalError(
            f"{place}: expected a run over the ids of one task, got a choice of {names}; name one with --task"
        )
    return fitting[0]


def _why_none(run: Run, tasks: Sequence[Task], bundle: Manifest) -> str:
    """Why a run is of no task: its metric, or the ids that each split of its metric has and it has not, or the reverse."""
    of_metric = [task for task in tasks if task.metric == run.metric]
    if not of_metric:
        metrics = ", ".join(dict.fromkeys(task.metric for task in tasks))
        return f"expected a run of a metric with a task ({metrics}), got one of {run.metric}"
    splits = {split.name: split for split in (bundle.split(task.config, task.split) for task in of_metric)}
    known = [split for split in splits.values() if split.ids_sha256 is not None]
    if not known:
        return f"expected a bundle that knows the ids of {' or '.join(splits)}, got one built without the data"
    here = comparison.units(run)
    words = (
        f"the {split.number:,} ids of {split.name}, got others: {_other_ids(here, bundle.ids(split))}"
        for split in known
    )
    return f"expected {'; or '.join(words)}"


def write_results(
    runs: Sequence[Run],
    out: str | Path,
    bundle: str | Path,
    *,
    task: str | None = None,
    repo: str | None = None,
    overwrite: bool = False,
    **more: str | None,
) -> tuple[Path, "list[EvalResultEntry]"]:
    """Write `.eval_results/<name of the bundle>.yaml` below `out`, the folder of a model's repository; and its entries.

    Each run gives one number (see `entry_of`, which takes `more`); two numbers of one task are refused, since they would be
    of two models. `task` is for a single run. What was written is read back by `huggingface_hub` and compared.
    """
    from huggingface_hub import eval_result_entries_to_yaml

    if repo is not None:
        check_repo(repo)
    if task is not None and len(runs) != 1:
        raise SgevalError(f"task: expected one run with it, got {len(runs)}")
    folder = Path(bundle)
    faults: list[str] = []
    found, (tasks, _) = read_manifest(folder), read_specs(folder, faults)
    if faults:
        raise SgevalError(f"{one_line(str(folder))}: {faults[0]}; `sgeval bundle check` lists all")
    entries = [entry_of(run, task_for(run, tasks, found, task), found, repo=repo, **more) for run in runs]
    for at, entry in enumerate(entries):
        if entry.task_id in [other.task_id for other in entries[:at]]:
            raise SgevalError(
                f"results: expected one run a task, got two of {entry.task_id}; write each system's into its own folder"
            )
    if (repo or found.repo) == REPOSITORY:
        warnings.warn(
            f"results name {REPOSITORY}, where ORG stands for who pushed the bundle; say it with --repo", stacklevel=2
        )
    path = Path(out) / FOLDER / f"{(repo or found.repo).split('/')[1]}.yaml"
    if path.exists() and not overwrite:
        raise SgevalError(f"{one_line(str(path))}: expected a new file, got one that exists; --overwrite replaces it")
    text = yaml.safe_dump(eval_result_entries_to_yaml(entries), sort_keys=False, allow_unicode=True, width=120)
    if read_entries(text, str(path)) != entries:
        raise SgevalError(f"{one_line(str(path))}: expected the same entries when read back, got others")
    with atomic_write(path) as file:
        file.write(text)
    return path, entries


def read_entries(text: str, place: str) -> "list[EvalResultEntry]":
    """The entries of an `.eval_results` file. Raises `SgevalError` for what `huggingface_hub` does not take."""
    return entries_of(parse_yaml(text, place), place)


def entries_of(value: Any, place: str) -> "list[EvalResultEntry]":
    """The same of a file that is parsed."""
    from huggingface_hub import parse_eval_result_entries

    if not isinstance(value, list) or not value or not all(isinstance(entry, dict) for entry in value):
        raise SgevalError(f"{place}: expected a list of results, got {shown(value)}")
    try:
        entries = parse_eval_result_entries(value)
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        raise SgevalError(
            f"{place}: expected results as the Hub takes them, got another form ({one_line(str(fault))})"
        ) from None
    for at, entry in enumerate(entries):
        if isinstance(entry.value, bool) or not isinstance(entry.value, (int, float)) or entry.value != entry.value:
            raise SgevalError(f"{place}[{at}].value: expected a number, got {shown(entry.value)}")
    return entries


def _date(value: str | None) -> str | None:
    if value is None:
        return None
    try:
        if not DAY.fullmatch(value):
            raise ValueError
        datetime.fromisoformat(value)
    except ValueError:
        raise SgevalError(f"date: expected a date as 2026-11-30, got {shown(value)}") from None
    return value


def _revision(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[0-9a-f]{40}", value):
        raise SgevalError(f"revision: expected the 40 digits of a commit, got {shown(value)}")
    return value


def _url(value: str | None, name: str | None) -> str | None:
    if value is None:
        if name is not None:
            raise SgevalError("source_name: expected a source_url with it, got none")
        return None
    try:
        parts = urlsplit(value)
        is_plain = parts.scheme == "https" and bool(parts.hostname) and "@" not in parts.netloc and parts.port != 0
    except ValueError:
        is_plain = False
    if not is_plain or not value.isprintable() or NO_ADDRESS & {*value}:
        raise SgevalError(f"source_url: expected an address that begins with https://, got {shown(value)}")
    return value
