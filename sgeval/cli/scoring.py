"""From flags and a YAML file to a scored run folder."""

import json
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from sgeval import alignment, relclip
from sgeval.data.source import Pictures, check_split, image_folder, read_source, source_files
from sgeval.encoders.aliases import label
from sgeval.errors import SgevalError, Unfinished, one_of, shown
from sgeval.journal import Journal, OpenJournal
from sgeval.options import options_of
from sgeval.regions import check_context
from sgeval.runs import PROGRESS, RESULTS, Run, Scoring, describe_file, read_own, read_run, versions, write_run
from sgeval.setup import Setup
from sgeval.vocabulary import vocabulary_files

DEFAULT_BOOTSTRAP = 1000
SETUP_NAMES = ("model", "device", "precision", "preprocess")
ScoreFiles = Callable[["Job", Any, OpenJournal], Scoring]


@dataclass(frozen=True)
class Metric:
    """What the command line needs to know of a metric."""

    options: type[Any]
    setup: Callable[..., Setup]
    files: tuple[str, ...]
    """The files it reads, by the name of their flag."""
    score: ScoreFiles


@dataclass(frozen=True)
class Job:
    """One scoring run as the command line asks for it."""

    metric: Metric
    files: Mapping[str, Path | Sequence[Path] | None]
    """By the name of their flag: predictions, references …"""
    images: Path | None
    out: Path
    settings: Mapping[str, Any]

    @classmethod
    def make(
        cls,
        metric: Metric,
        files: Mapping[str, Any],
        images: Path | None,
        out: Path,
        flags: Mapping[str, Any],
        config: Path | None,
    ) -> "Job":
        """The job of these flags over the settings of the YAML file."""
        settings = {**(read_settings(config, setting_names(metric)) if config else {}), **flags}
        if isinstance(settings.get("context"), str):
            settings["context"] = parse_context(settings["context"])
        return cls(metric, files, images, out, settings)

    def options(self) -> Any:
        """The metric's options; the command line bootstraps by default."""
        return options_in(self.settings, self.metric.options)

    def how(self) -> dict[str, Any]:
        """Which encoder, and how it runs."""
        return {key: self.settings[key] for key in SETUP_NAMES if key in self.settings}

    @property
    def name(self) -> str:
        """The name of what is judged: the system whose predictions these are, else the model."""
        predictions = self.files.get("predictions")
        own = predictions.stem if isinstance(predictions, Path) else label(self.metric.setup(**self.how()).name or "")
        return str(self.settings.get("name") or own)

    def pictures(self) -> Pictures:
        """Where the pictures are looked for."""
        return image_folder(self.images, self._sources())

    def _sources(self) -> list[tuple[Path, str]]:
        """The files of graphs with their forms, those first whose word on pictures counts."""
        found = [(self.files.get(flag), self.form(flag)) for flag in ("references", "predictions")]
        return [(path, form) for path, form in found if isinstance(path, Path)]

    def graphs(self, flag: str) -> Any:
        """The rows of a file of graphs, in the form that the settings name; nothing where none is given."""
        path = self.files[flag]
        if not isinstance(path, Path):
            return None
        return read_source(path, self.form(flag), split=self.settings.get("split"))

    def inputs(self) -> dict[str, Any]:
        """What the run is made from: files by digest, and what of the settings decides what is read."""
        found: dict[str, Any] = {}
        check_split(self.settings.get("split"), self._sources())
        for flag, given in self.files.items():
            for number, path in enumerate(given if isinstance(given, Sequence) else [given]):
                if path is not None:
                    parts = vocabulary_files(path) if flag == "vocabulary" else source_files(path, self.form(flag))
                    found[f"{flag}_{number}" if number else flag] = describe_file(path, parts)
        setup = self.metric.setup(**self.how())
        found |= {"images": str((self.images or next(path for path, _ in self._sources())).resolve())}
        found |= {"model": setup.name, "precision": setup.precision, "preprocess": setup.preprocess}
        found |= {"format": self.form(), "references_format": self.form("references")}
        return found | {name: self.settings[name] for name in ("limit", "split") if self.settings.get(name)}

    def form(self, flag: str = "predictions") -> str:
        """The form of a file of graphs; that of the references is the same as the predictions' unless said."""
        of_references = self.settings.get("references_format") if flag != "predictions" else None
        return str(of_references or self.settings.get("format") or "sgeval")


def _score_relclip(job: Job, options: Any, open_journal: OpenJournal) -> Scoring:
    return relclip.score(
        job.graphs("predictions"),
        images=job.pictures(),
        references=job.graphs("references"),
        limit=job.settings.get("limit"),
        options=options,
        cache=job.settings.get("cache"),
        open_journal=open_journal,
        **job.how(),
    )


def _score_theta(job: Job, options: Any, open_journal: OpenJournal) -> Scoring:
    more = job.files["vocabulary_graphs"]
    assert not isinstance(more, Path)
    return alignment.score_annotations(
        job.graphs("references"),
        images=job.pictures(),
        vocabulary=job.files["vocabulary"],
        vocabulary_graphs=[row for path in more for row in read_source(path, job.form("references"))] if more else None,
        limit=job.settings.get("limit"),
        options=options,
        cache=job.settings.get("cache"),
        open_journal=open_journal,
        **job.how(),
    )


RELCLIPSCORE = Metric(relclip.Options, relclip.make_setup, ("predictions", "references"), _score_relclip)
THETA = Metric(alignment.Options, alignment.make_setup, ("references", "vocabulary", "vocabulary_graphs"), _score_theta)


def setting_names(metric: Metric) -> tuple[str, ...]:
    """What may stand in a YAML file: the metric's options, and what decides how it runs and what is read."""
    forms = ("format", "references_format") if "predictions" in metric.files else ("format",)
    return (*forms, "split", "limit", "name", "cache", *SETUP_NAMES, *(item.name for item in fields(metric.options)))


def run_job(job: Job, *, overwrite: bool = False, resume: bool = False) -> Run:
    """Score and write the run folder. With `resume`, go on where a run of the same inputs, options and versions stopped,
    or where pictures were left out; a complete one is read and left as it is."""
    if overwrite and resume:
        raise SgevalError("--resume and --overwrite: expected one of them, got both")
    options, setup = job.options(), job.metric.setup(**job.how())
    setup.check()
    inputs = job.inputs()
    check_folder(job.out)
    if resume and (job.out / RESULTS).exists() and not (job.out / PROGRESS).exists():
        return _complete(job, inputs, options)
    if not (overwrite or resume):
        refuse_existing(job.out)
    elif overwrite:
        _begin(job.out)
    with ExitStack() as held:  # the journal is held until the results stand: no second process comes between

        def open_journal(signature: str) -> Journal:
            identity = {
                **inputs,
                **asdict(options),
                "signature": signature,
                "device": setup.device_kind(),
                **versions(),
            }
            texts = {name: json.dumps(value, sort_keys=True) for name, value in identity.items()}
            opened.append(held.enter_context(closing(Journal(job.out / PROGRESS, texts, resume=resume))))
            return opened[0]

        opened: list[Journal] = []
        scoring = job.metric.score(job, options, open_journal)
        try:
            result = write_run(job.out, job.name, scoring, inputs)
        except OSError as fault:
            raise Unfinished(f"{fault.filename or job.out}: cannot be written ({fault.strerror or fault})") from None
        del scoring  # its rows are read back below
        if not result["n_bad_images"]:  # else it stays: pictures that are mended can be scored with --resume
            opened[0].finish()
    return read_own(job.out)


def options_in(settings: Mapping[str, Any], kind: type[Any]) -> Any:
    """The options of a metric among the settings of a run; the command line bootstraps by default."""
    names = {item.name for item in fields(kind)}
    given = {key: value for key, value in settings.items() if key in names}
    return options_of(kind, {"bootstrap": DEFAULT_BOOTSTRAP, **given})


def check_folder(out: Path) -> None:
    """Refuse a file where a run folder is to be."""
    if out.exists() and not out.is_dir():
        raise SgevalError(f"out: expected a folder, got the file {out}")


def _begin(out: Path) -> None:
    """Mark a folder whose run is being replaced: from here on its old results are not what was asked for."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / PROGRESS).touch()
    except OSError as fault:
        raise SgevalError(f"{out}: cannot be written ({fault.strerror})") from None


def refuse_existing(out: Path) -> None:
    """Refuse a folder that holds a run."""
    if (out / PROGRESS).exists():
        raise SgevalError(
            f"{out}: holds a run that is not complete; go on with --resume, or start again with --overwrite"
        )
    if (out / RESULTS).exists():
        raise SgevalError(f"{out}: holds a run already; name another folder or give --overwrite")


def _complete(job: Job, inputs: Mapping[str, Any], options: Any) -> Run:
    """The complete run in the folder, when it is the one that is asked for."""
    run = read_run(job.out)
    before, now = (
        {**of, **asdict(given), **made}
        for of, given, made in ((run.inputs, run.options, run.versions), (inputs, options, versions()))
    )
    for name in {**before, **now}:
        if before.get(name) != now.get(name):
            raise SgevalError(
                f"{job.out}: holds a complete run with {name} {shown(before.get(name))}, this one has "
                f"{shown(now.get(name))}; name another folder or give --overwrite"
            )
    warnings.warn(
        f"{job.out}: complete already, and left as it is; whether pictures or weights have changed was not looked at "
        "(--overwrite scores anew)",
        stacklevel=2,
    )
    return run


def parse_context(text: str) -> Any:
    """`none`, `openvocsgg`, `ratio:0.2` or `px:20` as the option takes it.

    >>> parse_context("ratio:0.2"), parse_context("none")
    (('ratio', 0.2), 'none')
    """
    unit, _, amount = text.partition(":")
    if text in ("none", "openvocsgg"):
        return text
    try:
        return check_context((unit, float(amount)))
    except (ValueError, SgevalError):
        raise SgevalError(f"context: expected none, openvocsgg, ratio:SHARE or px:PIXELS, got {shown(text)}") from None


def read_settings(path: Path, names: Sequence[str]) -> dict[str, Any]:
    """The settings of a YAML file, each of them one of `names`."""
    import yaml

    from sgeval.strict_json import read_text

    try:
        settings = yaml.safe_load(read_text(path)) or {}
    except yaml.YAMLError as fault:
        raise SgevalError(f"{path}: expected YAML ({str(fault).splitlines()[0]})") from None
    if not isinstance(settings, dict):
        raise SgevalError(f"{path}: expected options as name: value, got {shown(settings)}")
    for key in settings:
        one_of(f"{path}: option", key, names)
    return settings
