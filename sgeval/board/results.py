"""Results of a board: a folder that is only ever added to.

`<task>/<id>/entry.json` holds what the tables need, `run/` the run folder, `report.html` its page, if one was made. The id
is the time and a digest of what was scored, so that names sort by time, the same is known again, and nothing of a
stranger's stands in them. An entry takes its name when it is whole, and no call here changes or removes one.
"""

import hashlib
import json
import math
import re
import shutil
import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sgeval import __version__, relclip, strict_json
from sgeval.board.settings import Task
from sgeval.bundle import specs
from sgeval.bundle.results import MOST, NO_ADDRESS, differing
from sgeval.comparison import Contender, check_score, first_ids
from sgeval.errors import SgevalError, one_line, one_of, shown
from sgeval.files import atomic_write, make_folder
from sgeval.runs import RESULTS, Run, describe_file
from sgeval.signature import parts_of
from sgeval.summary import ENDS, Sample

ENTRY, RUN, REPORT = "entry.json", "run", "report.html"
FORMAT = 1
ID = re.compile(r"[0-9]{8}-[0-9]{6}-[0-9a-f]{8}")
MOST_WORDS = 80
MOST_LINK = 300
LARGEST_SIZE = 100_000.0
COPIED = 0.95
"""The share of the references that a submission may repeat word for word; one that repeats as much is shown apart."""
NEW, STALE = ".new-", 3600
"""What folders of entries are called that are not whole yet, and the seconds after which one was left by a killed process."""
READ = (0, 0)
"""What stands for the size and time of an entry that was read: it never changes."""


@dataclass(frozen=True)
class About:
    """What is told of a system by whoever submits it."""

    system: str
    team: str = ""
    link: str = ""
    """Its page: an address that begins with https://."""
    size: float | None = None
    """Billions of parameters."""

    @classmethod
    def checked(cls, system: Any, team: Any = "", link: Any = "", size: Any = None) -> "About":
        """The same from what was typed. Raises `SgevalError` for what is no name, no address or no size.

        >>> About.checked(" My model ", size=7)
        About(system='My model', team='', link='', size=7.0)
        >>> About.checked("m", link="javascript:alert(1)")
        Traceback (most recent call last):
        ...
        sgeval.errors.SgevalError: link: expected an address that begins with https://, got "javascript:alert(1)"
        """
        named = _words(system, "system")
        if not any(char.isalnum() for char in named):
            raise SgevalError(f"system: expected a name with a letter or a digit, got {shown(named)}")
        return cls(named, _words(team, "team"), _link(link), _size(size))


def _words(value: Any, name: str) -> str:
    text = "" if value is None else value
    if not isinstance(text, str) or len(text.strip()) > MOST_WORDS or not text.strip().isprintable():
        raise SgevalError(f"{name}: expected at most {MOST_WORDS} characters in one line, got {shown(value)}")
    return text.strip()


def _link(value: Any) -> str:
    text = "" if value is None else value
    ok = isinstance(text, str) and len(text) <= MOST_LINK and text.isascii() and text.isprintable()
    if ok and not text.strip():
        return ""
    if (
        not ok
        or not re.fullmatch(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(/.*)?", text.strip(), re.I)
        or NO_ADDRESS & {*text}
    ):
        raise SgevalError(f"link: expected an address that begins with https://, got {shown(value)}")
    return str(text).strip()


def _size(value: Any) -> float | None:
    if value is None or value == "" or value == 0:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value <= LARGEST_SIZE:
        raise SgevalError(f"size: expected billions of parameters, above 0, got {shown(value)}")
    return float(value)


@dataclass(frozen=True)
class Entry:
    """One result, as far as tables need it."""

    id: str
    task: str
    about: About
    metric: str
    result: Mapping[str, Any]
    """The flat result: numbers, counts, signature."""
    sample: Sample
    """Of the ranked number, over all units."""
    protocol: Mapping[str, str]
    differs: tuple[tuple[str, str, str], ...]
    """Where its protocol is not the task's: part, the task's value, its own. Empty for one that may be ranked."""
    copied: float | None
    """The share of the references that it repeats word for word; `None` where nobody looked."""
    scored_here: bool
    """Whether the board scored it, or its keeper added a run."""

    @property
    def date(self) -> str:
        """The day it was added."""
        return f"{self.id[:4]}-{self.id[4:6]}-{self.id[6:8]}"

    @property
    def judge(self) -> str:
        """The judge of labels or the model that scores; empty where the metric has neither."""
        parts = parts_of(str(self.result["signature"]))
        return parts.get("judge") or parts.get("model") or ""

    @cached_property
    def contender(self) -> Contender:
        """As a comparison sees it. One that repeats the references measures something else, and says so."""
        protocol = dict(self.protocol)
        if self.repeats_references:
            protocol["repeats"] = "the references"
        return Contender(
            self.about.system, self.metric, self.result, self.sample, protocol, frozenset(self.sample.units)
        )

    @property
    def repeats_references(self) -> bool:
        """Whether it says what the references say, word for word."""
        return self.copied is not None and self.copied >= COPIED


def make_entry(
    run: Run,
    task: Task,
    about: About,
    *,
    copied: float | None = None,
    scored_here: bool = False,
    now: datetime | None = None,
) -> Entry:
    """The entry of a run. Its id ends in a digest of what it holds, so that the same under another name is known again.

    Raises `SgevalError` for a run of another metric, on other references, without a number under the task's key, or whose
    results are not what its rows give.
    """
    place = one_line(run.name)
    if run.metric != task.metric:
        raise SgevalError(f"{place}: expected a run of {task.metric}, got one of {run.metric}")
    known = task_references(task)
    given = run.inputs.get("references")
    if not isinstance(given, Mapping) or given.get("sha256") != known:
        raise SgevalError(f"{place}: expected a run on the references of the task ({known[:12]}), got other ones")
    one_of(f"{task.id}: key", task.key, (*run.sample.ratios, *run.sample.means))
    check_score(run, task.key)
    contender = Contender.of(run, (task.key,))
    if contender.value(task.key) is None:
        raise SgevalError(f"{place}: expected a number under {task.key}, got none; it is undefined or withheld")
    asked = specs.Task(task.id, task.title, "", task.metric, task.key, "", "", task.settings, task.pins)
    parts = tuple(differing(run, asked, __version__))
    when = (now or datetime.now(timezone.utc)).strftime("%Y%m%d-%H%M%S")
    name = f"{when}-{_content(run, task)[:8]}"
    flat = {
        key: value for key, value in run.result.items() if value is None or isinstance(value, (bool, int, float, str))
    }
    sample = _over_all(contender, task.key)
    return Entry(name, task.id, about, run.metric, flat, sample, contender.protocol, parts, copied, scored_here)


def _content(run: Run, task: Task) -> str:
    """A digest of what was predicted and how it was scored, whatever it is called and in whatever order it stands. Scores
    of relations are left out where a model gives them: what stands beside a text in its batch may move their last digit."""
    left_out = {"index", *(("score", "ref_score") if run.metric in relclip.KEYS.values() else ())}
    rows = []
    for name, (table, _) in sorted(run.form.tables.items()):
        if table != "matches":  # they number the others, and follow from them
            for row in getattr(run.rows, table):
                said = {key: value for key, value in asdict(row).items() if key not in left_out}
                rows.append(json.dumps([name, said], sort_keys=True))
    return hashlib.sha256(json.dumps([task.id, run.signature, sorted(rows)]).encode()).hexdigest()


def _files(run: Run) -> dict[str, str]:
    """The digests of a run's files, by name."""
    found: dict[str, str] = strict_json.read_file(run.folder / RESULTS)["files"]
    return found


def task_references(task: Task) -> str:
    """The digest of a task's references, as runs name them."""
    return describe_file(task.references)["sha256"]


def _over_all(system: Contender, key: str) -> Sample:
    """What one score is made of, over all units: one that counts nothing has zeros."""
    names = tuple(sorted(system.units | {*system.sample.units}))
    place = {name: index for index, name in enumerate(names)}
    at = np.array([place[unit] for unit in system.sample.units], dtype=np.int64)
    ratios = {}
    for part in system.sample.parts(key):
        columns = np.zeros((2, len(names)))
        columns[:, at] = system.sample.ratios[part]
        ratios[part] = (columns[0], columns[1])
    means = {key: tuple(system.sample.parts(key))} if key in system.sample.means else {}
    return Sample(names, ratios, means, system.sample.scale)


class Results:
    """A folder of the results of some tasks, as it was when it was last looked at. `entries` are those that fit their task;
    `faults` says of the others what is wrong: a folder may come from elsewhere."""

    def __init__(self, folder: str | Path, tasks: Mapping[str, Task]) -> None:
        self.folder, self.tasks = Path(folder), tasks
        self.faults: list[str] = []
        self._seen: dict[Path, tuple[int, int]] = {}
        self._entries: dict[str, dict[str, Entry]] = {task: {} for task in tasks}
        self.look()

    def look(self) -> list[Entry]:
        """Read what came to the folder since the last look, or was refused and has changed; the entries among it that fit
        their task."""
        new = []
        for path in sorted(self.folder.glob(f"*/*/{ENTRY}")):
            if path.parent.name.startswith(NEW) or self._seen.get(path) in (READ, now := _stamp(path)):
                continue
            self._seen[path] = now
            try:
                entry = _read(path)
                place = f"{entry.task}/{entry.id}"
                one_of(f"{place}: task", entry.task, self.tasks)
                _check_fit(entry, self.tasks[entry.task], place)
                self._check_units(entry)
                self._keep(entry)
                self._seen[path] = READ
                new.append(entry)
            except SgevalError as fault:
                self.faults.append(one_line(str(fault)))
        return new

    def _keep(self, entry: Entry) -> None:
        self._entries[entry.task][entry.id] = entry

    def entries(self, task: str) -> list[Entry]:
        """The entries of a task, oldest first."""
        return [entry for _, entry in sorted(self._entries[task].items())]

    def find(self, name: str) -> Entry | None:
        """The entry of an id."""
        return next((found[name] for found in self._entries.values() if name in found), None)

    def place(self, entry: Entry) -> Path:
        """The folder of an entry."""
        return self.folder / entry.task / entry.id

    def team_count(self, entry: Entry) -> tuple[int, int]:
        """Which submission of its team to its task an entry is, and how many there are; best-of-many is seen so."""
        team = entry.about.team or entry.about.system
        alike = [each.id for each in self.entries(entry.task) if (each.about.team or each.about.system) == team]
        return alike.index(entry.id) + 1 if entry.id in alike else len(alike) + 1, len(alike)

    def add(self, entry: Entry, run: Run) -> Path:
        """Add an entry with the folder of its run, and its report if it has one; the entry's folder.

        Of the run folder those files are copied that its results name. Raises `SgevalError` where the same is there under
        whatever name, the task's entries are over other ids, or nothing can be written.
        """
        same = next((other for other in self.entries(entry.task) if other.id[-8:] == entry.id[-8:]), None)
        if same is not None:
            words = f"is on the board already, as {same.id}"
            raise SgevalError(f"{shown(entry.about.system)}: {words} ({shown(same.about.system)})")
        self._check_units(entry)
        try:
            return self._add(entry, run)
        except OSError as fault:
            raise SgevalError(f"results: {entry.id} cannot be added ({fault.strerror or fault})") from None

    def _add(self, entry: Entry, run: Run) -> Path:
        target = self.place(entry)
        make_folder(target.parent)
        for left in target.parent.glob(f"{NEW}*"):  # of a process that was killed
            if time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)
        work = Path(tempfile.mkdtemp(prefix=NEW, dir=target.parent))
        try:
            (work / RUN).mkdir()
            for name in (RESULTS, *_files(run)):
                shutil.copyfile(run.folder / name, work / RUN / name, follow_symlinks=False)
            if (run.folder / REPORT).is_file():
                shutil.copyfile(run.folder / REPORT, work / REPORT, follow_symlinks=False)
            with atomic_write(work / ENTRY) as file:
                file.write(_written(entry))
            work.chmod(0o755)
            self._seen[target / ENTRY] = READ
            work.rename(target)  # refused where another is in the way, unless that is an empty folder
        except BaseException:
            shutil.rmtree(work, ignore_errors=True)
            raise
        self._keep(entry)
        return target

    def _check_units(self, entry: Entry) -> None:
        """Refuse an entry over other pictures or videos than those that are there."""
        first = next(iter(self._entries[entry.task].values()), entry)
        there, here = first.contender.units, entry.contender.units
        for words, ids in (("missing", there - here), ("unknown", here - there)):
            if ids:
                expected = f"expected the {len(there):,} ids of the task, got others"
                raise SgevalError(
                    f"{one_line(entry.about.system)}: {expected}: {len(ids):,} {words} ({first_ids(ids)})"
                )


def _stamp(path: Path) -> tuple[int, int]:
    """A file's size, and when it was last changed."""
    try:
        status = path.stat()
    except OSError:
        return (-1, -1)
    return (status.st_size, status.st_mtime_ns)


def _written(entry: Entry) -> str:
    sample = entry.sample
    whole = {
        "format": FORMAT,
        "id": entry.id,
        "task": entry.task,
        "about": vars(entry.about),
        "metric": entry.metric,
        "result": dict(entry.result),
        "protocol": dict(entry.protocol),
        "differs": [list(part) for part in entry.differs],
        "copied": entry.copied,
        "scored_here": entry.scored_here,
        "sample": {
            "units": list(sample.units),
            "ratios": {name: [side.tolist() for side in sides] for name, sides in sample.ratios.items()},
            "means": {name: list(parts) for name, parts in sample.means.items()},
            "scale": sample.scale,
        },
    }
    return json.dumps(whole, ensure_ascii=False, allow_nan=False) + "\n"


def _read(path: Path) -> Entry:
    """The entry of a file, which may have come from elsewhere."""
    whole = strict_json.read_file(path)
    place = f"{path.parent.parent.name}/{path.parent.name}/{path.name}"
    try:
        if whole["format"] != FORMAT:
            raise SgevalError(f"{place}: expected format {FORMAT}, got {shown(whole['format'])}")
        made = Entry(
            str(whole["id"]),
            str(whole["task"]),
            About.checked(**whole["about"]),
            str(whole["metric"]),
            {str(name): _plain(value) for name, value in whole["result"].items()},
            _sample(whole["sample"]),
            {str(name): str(value) for name, value in whole["protocol"].items()},
            tuple((str(part), str(there), str(here)) for part, there, here in whole["differs"]),
            None if whole["copied"] is None else float(whole["copied"]),
            bool(whole["scored_here"]),
        )
        str(made.result["signature"])
    except (KeyError, TypeError, ValueError, AttributeError) as fault:
        words = str(fault) if isinstance(fault, SgevalError) else f"{type(fault).__name__} {fault}"
        raise SgevalError(f"{place}: expected an entry of a board, got another form ({words})") from None
    if not ID.fullmatch(made.id) or (made.task, made.id) != (path.parent.parent.name, path.parent.name):
        raise SgevalError(f"{place}: expected the entry that its folder is named after, got {shown(made.id)}")
    return made


def _check_fit(entry: Entry, task: Task, place: str) -> None:
    """Refuse an entry that is not of its task, or whose number is not what its units give."""
    if entry.metric != task.metric:
        raise SgevalError(f"{place}: expected a result of {task.metric}, got one of {entry.metric}")
    value, made = entry.contender.value(task.key), entry.sample.score(task.key)
    if value is None or made is None or not math.isclose(value, made, rel_tol=1e-9, abs_tol=1e-9):
        raise SgevalError(f"{place}: expected the {task.key} that its units give, {shown(made)}, got {shown(value)}")
    ends = [entry.result.get(f"{task.key}_{end}") for end in ENDS]
    if any(end is not None and (isinstance(end, (bool, str)) or abs(end) > MOST) for end in ends):
        raise SgevalError(f"{place}: expected numbers as the ends of its interval, got {shown(ends)}")
    if len({*entry.sample.units}) != len(entry.sample.units):
        raise SgevalError(f"{place}: expected each unit once, got one twice")
    signed = parts_of(str(entry.result["signature"]))
    parts = ("version", "judge", "model", "weights")
    if any(signed.get(part) != entry.protocol.get(part) for part in parts if part in entry.protocol):
        raise SgevalError(f"{place}: expected the protocol that its signature says, got another")


def _plain(value: Any) -> Any:
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise SgevalError(f"expected a flat result, got {shown(value)}")
    return value


def _sample(given: Mapping[str, Any]) -> Sample:
    names = tuple(map(str, given["units"]))
    ratios = {}
    for part, (above, below) in given["ratios"].items():
        columns = np.array([above, below], dtype=np.float64)
        if columns.shape != (2, len(names)):
            raise SgevalError(f"expected {len(names)} units in {shown(part)}, got {columns.shape[1]}")
        ratios[str(part)] = (columns[0], columns[1])
    means = {str(name): tuple(map(str, parts)) for name, parts in given["means"].items()}
    return Sample(names, ratios, means, float(given["scale"]))
