"""What a board ranks: `board.yaml`, read once.

```yaml
title: Scene graphs
tasks:
  - id: demo_relations            # letters, digits, _
    title: Relations of drawn scenes
    what: One or two sentences for a reader of the board.
    metric: relclipscore
    key: relclipscore             # the ranked number; a key of the result
    also: [mean_score]            # keys shown beside it
    settings: {model: demo, pairs: gold}   # options of the metric that are not its defaults; model or judge
    pins: {weights: cf0f813a6e43} # parts of the signature that no setting says
    references: data/gold.jsonl   # of this folder; `sgeval:…` is a file that comes with sgeval
    images: data/images           # where the metric looks at pictures
    form: sgeval                  # or answers, for graphs of videos
    submissions: true             # whether strangers may send predictions
limits: {seconds: 300}            # see Limits
```
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import sgeval
from sgeval import alignment, relclip, situation, temporal
from sgeval.board.keys import ranked_keys, result_keys
from sgeval.bundle.specs import ENCODER_SETTINGS, MODULES, command_line
from sgeval.bundle.strict_yaml import read_yaml
from sgeval.encoders.load import PRECISIONS, PREPROCESSES, alias_of
from sgeval.errors import SgevalError, one_of, shown
from sgeval.judges.embedding import PREFIX
from sgeval.judges.make import FORMS as FORMS_OF_JUDGES
from sgeval.judges.make import OFFLINE, is_language_model
from sgeval.options import options_of
from sgeval.runs import FORMS
from sgeval.schemas import Kind

BOARD = "board.yaml"
NAME = re.compile(r"[a-z0-9][a-z0-9_]{0,63}")
SHIPPED = "sgeval:"
FORMS_OF_PREDICTIONS = ("sgeval", "answers")
KINDS = {str: "a text", list: "a list", dict: "keys and values", bool: "true or false"}


class OutOfOrder(SgevalError):
    """Something is wrong with the board, not with what was submitted to it."""


@dataclass(frozen=True)
class Limits:
    """What one submission may take. The defaults suit a Space with two cores and 16 GB."""

    seconds: int = 300
    """Wall time of validating and scoring."""
    memory_mb: int = 4_000
    """Memory of the child process."""
    upload_bytes: int = 50_000_000
    unpacked_bytes: int = 200_000_000
    graphs: int = 20_000
    relations: int = 400_000
    at_once: int = 2
    """Submissions scored at a time; others wait."""
    waiting: int = 40
    """Submissions that may wait; more are asked to come again."""
    an_hour: int = 30
    """Submissions that one visitor may send in an hour."""


@dataclass(frozen=True)
class Task:
    """One ranked number: one table of the board."""

    id: str
    title: str
    what: str
    metric: str
    key: str
    also: tuple[str, ...]
    settings: Mapping[str, Any]
    pins: Mapping[str, str]
    references: Path
    images: Path | None
    form: str
    submissions: bool

    @property
    def kind(self) -> Kind:
        """What its graphs are of: `image` or `video`."""
        return "video" if self.metric == temporal.KEY else "image"

    @property
    def validate_command(self) -> str:
        """The command line that finds the faults of a submission."""
        kind = " --kind video" if self.kind == "video" else ""
        form = "" if self.form == "sgeval" else f" --format {self.form} --references-format sgeval"
        matching = f" --matching {self.matching}" if self.matching else ""
        return f"sgeval validate FILE --references REFERENCES{kind}{form}{matching}"

    @property
    def score_command(self) -> str:
        """The command line that makes a run of this task's protocol."""
        form = {} if self.form == "sgeval" else {"format": self.form, "references_format": "sgeval"}
        files = {"predictions": "FILE", "references": self.references}
        pictures = {} if self.images is None else {"images": self.images}
        metric = relclip.KEYS["cosine"] if self.metric in relclip.KEYS.values() else self.metric
        return command_line(metric, {**files, **pictures, **form, **self.settings}, "runs/mine")

    @property
    def matching(self) -> Any:
        """How objects of pictures are matched; nothing where the metric matches none."""
        return self.options().matching if self.metric in relclip.KEYS.values() else None

    def options(self) -> Any:
        """The metric's options."""
        given = {name: value for name, value in self.settings.items() if name not in (*ENCODER_SETTINGS, "judge")}
        return options_of(FORMS[self.metric].options, given)

    @property
    def judge(self) -> str:
        """The judge of labels, where the metric has one."""
        return str(self.settings.get("judge", "wordnet"))

    def setup(self) -> dict[str, Any]:
        """Which encoder scores, and how it runs."""
        return {name: self.settings[name] for name in ENCODER_SETTINGS if name in self.settings}


@dataclass(frozen=True)
class Board:
    """Tasks by id, in the order of the file."""

    folder: Path
    title: str
    tasks: Mapping[str, Task]
    limits: Limits


def read_board(folder: str | Path) -> Board:
    """Read the `board.yaml` of a folder. Raises `SgevalError`, with the place, for what is wrong with it, and where a
    task's references or pictures are not there."""
    folder = Path(folder).resolve()
    place = f"{folder.name}/{BOARD}"
    whole = _checked(read_yaml(folder / BOARD, place), {"title": str, "tasks": list}, {"limits": dict}, place)
    tasks: dict[str, Task] = {}
    for index, given in enumerate(whole["tasks"]):
        task = _task(given, folder, f"{place}: tasks[{index}]")
        if task.id in tasks:
            raise SgevalError(f"{place}: tasks[{index}].id: expected each id once, got {shown(task.id)} again")
        tasks[task.id] = task
    if not tasks:
        raise SgevalError(f"{place}: tasks: expected at least one, got none")
    return Board(folder, whole["title"], tasks, _limits(whole.get("limits", {}), f"{place}: limits"))


def _task(given: Any, folder: Path, place: str) -> Task:
    needed = {"id": str, "title": str, "what": str, "metric": str, "key": str, "references": str}
    more = {"also": list, "settings": dict, "pins": dict, "images": str, "form": str, "submissions": bool}
    whole = _checked(given, needed, more, place)
    if not NAME.fullmatch(whole["id"]):
        raise SgevalError(f"{place}.id: expected small letters, digits and _, got {shown(whole['id'])}")
    one_of(f"{place}.metric", whole["metric"], (*relclip.KEYS.values(), *MODULES))
    one_of(f"{place}.form", whole.get("form", "sgeval"), FORMS_OF_PREDICTIONS)
    for index, name in enumerate(whole.get("also", ())):
        if not isinstance(name, str):
            raise SgevalError(f"{place}.also[{index}]: expected the key of a result, got {shown(name)}")
    images = whole.get("images")
    if images is None and whole["metric"] not in (situation.KEY, temporal.KEY):
        raise SgevalError(f"{place}.images: expected a folder of pictures, got nothing")
    if whole["metric"] == alignment.KEY and whole.get("submissions"):
        raise SgevalError(f"{place}.submissions: expected false, since θ ranks scoring models, got true")
    task = Task(
        whole["id"],
        whole["title"],
        whole["what"],
        whole["metric"],
        whole["key"],
        tuple(whole.get("also", ())),
        whole.get("settings", {}),
        {name: str(value) for name, value in whole.get("pins", {}).items()},
        _path(whole["references"], folder, f"{place}.references", is_folder=False),
        None if images is None else _path(images, folder, f"{place}.images", is_folder=True),
        whole.get("form", "sgeval"),
        whole.get("submissions", whole["metric"] != alignment.KEY),
    )
    _check_settings(task, f"{place}.settings")
    one_of(f"{place}.key", task.key, ranked_keys(task.metric, task.options()))
    for index, name in enumerate(task.also):
        one_of(f"{place}.also[{index}]", name, result_keys(task.metric, task.options()))
    return task


def _check_settings(task: Task, place: str) -> None:
    """Refuse settings that the metric does not have, and names of models and judges that are none."""
    more = {temporal.KEY: ("judge",), situation.KEY: ()}.get(task.metric, tuple(ENCODER_SETTINGS))
    for name in task.settings:
        one_of(place, name, (*more, *(item.name for item in fields(FORMS[task.metric].options))))
    if task.submissions and is_language_model(task.judge):
        expected = "a judge that asks nobody, since submissions are scored without network"
        raise SgevalError(f"{place}: expected {expected}, got {shown(task.judge)}")
    if not is_language_model(task.judge) and not task.judge.startswith(PREFIX):
        one_of(f"{place}.judge", task.judge, OFFLINE, FORMS_OF_JUDGES)
    try:
        task.options()
        if more == tuple(ENCODER_SETTINGS):
            _check_encoder(task)
    except SgevalError as fault:
        raise SgevalError(f"{place}.{fault}") from None


def _check_encoder(task: Task) -> None:
    how = {**ENCODER_SETTINGS, **task.setup()}
    one_of("precision", how["precision"], PRECISIONS)
    one_of("preprocess", how["preprocess"], PREPROCESSES)
    model = str(how["model"] or relclip.CONFIGS["clip"][0])
    rule = alias_of(model).score_rule
    if task.metric != alignment.KEY and rule is not None and relclip.KEYS[rule] != task.metric:
        raise SgevalError(
            f"model: expected one that gives {task.metric}, got {shown(model)}, which gives {relclip.KEYS[rule]}"
        )


def _path(text: str, folder: Path, place: str, *, is_folder: bool) -> Path:
    """A path inside the board's folder, or of a file that comes with sgeval."""
    root = Path(sgeval.__file__).parent if text.startswith(SHIPPED) else folder
    path = (root / text.removeprefix(SHIPPED)).resolve()
    if root.resolve() not in path.parents:
        raise SgevalError(f"{place}: expected a path inside the folder of the board, got {shown(text)}")
    if not (path.is_dir() if is_folder else path.is_file()):
        raise SgevalError(f"{place}: expected a {'folder' if is_folder else 'file'}, found none at {shown(text)}")
    return path


def _limits(given: Mapping[str, Any], place: str) -> Limits:
    names = [item.name for item in fields(Limits)]
    for name, value in given.items():
        one_of(place, name, names)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise SgevalError(f"{place}.{name}: expected a whole number of 1 or more, got {shown(value)}")
    return Limits(**given)


def _checked(value: Any, needed: Mapping[str, type], more: Mapping[str, type], place: str) -> dict[str, Any]:
    """A mapping with these keys of these types, and no others."""
    if not isinstance(value, dict):
        raise SgevalError(f"{place}: expected keys and values, got {shown(value)}")
    kinds = {**needed, **more}
    for name in (*needed, *value):
        one_of(place, name, kinds)
        got = shown(value[name]) if name in value else "nothing"
        if not isinstance(value.get(name), kinds[name]):
            raise SgevalError(f"{place}{'.' if '[' in place else ': '}{name}: expected {KINDS[kinds[name]]}, got {got}")
    return value
