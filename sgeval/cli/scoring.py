"""From flags and a YAML file to a scored run folder."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar

from sgeval.errors import SgevalError, one_of, shown
from sgeval.formats import read_graphs
from sgeval.relclip import Options, make_options, score
from sgeval.runs import RESULTS, Run, describe_file, read_run, write_run

DEFAULT_BOOTSTRAP = 1000


@dataclass(frozen=True)
class Job:
    """One scoring run as the command line asks for it."""

    OPTION_NAMES: ClassVar[tuple[str, ...]] = (
        "model",
        "format",
        "references_format",
        "limit",
        "device",
        "name",
        *(item.name for item in fields(Options)),
    )

    predictions: Path
    images: Path
    out: Path
    references: Path | None
    settings: Mapping[str, Any]

    @classmethod
    def make(
        cls,
        predictions: Path,
        images: Path,
        out: Path,
        references: Path | None,
        flags: Mapping[str, Any],
        config: Path | None,
    ) -> "Job":
        """The job of these flags over the settings of the YAML file."""
        settings = {**(_read_config(config) if config else {}), **flags}
        if isinstance(settings.get("context"), str):
            settings["context"] = parse_context(settings["context"])
        return cls(predictions, images, out, references, settings)

    def options(self) -> Options:
        """The metric's options; the command line bootstraps by default."""
        names = {item.name for item in fields(Options)}
        given = {key: value for key, value in self.settings.items() if key in names}
        return make_options({"bootstrap": DEFAULT_BOOTSTRAP, **given})


def run_job(job: Job, overwrite: bool = False) -> Run:
    """Score and write the run folder."""
    if (job.out / RESULTS).exists() and not overwrite:
        raise SgevalError(f"{job.out}: holds a run already; name another folder or give --overwrite")
    options = job.options()
    form = job.settings.get("format", "sgeval")
    scoring = score(
        read_graphs(job.predictions, form),
        images=job.images,
        references=read_graphs(job.references, job.settings.get("references_format", form)) if job.references else None,
        model=job.settings.get("model"),
        device=job.settings.get("device", "auto"),
        limit=job.settings.get("limit"),
        options=options,
    )
    inputs: dict[str, Any] = {"predictions": describe_file(job.predictions), "images": str(job.images.resolve())}
    if job.references:
        inputs["references"] = describe_file(job.references)
    write_run(job.out, str(job.settings.get("name") or job.predictions.stem), scoring, inputs)
    return read_run(job.out)


def parse_context(text: str) -> Any:
    """`none`, `openvocsgg`, `ratio:0.2` or `px:20` as the option takes it.

    >>> parse_context("ratio:0.2"), parse_context("none")
    (('ratio', 0.2), 'none')
    """
    unit, colon, amount = text.partition(":")
    if not colon:
        return text
    try:
        return (unit, float(amount))
    except ValueError:
        raise SgevalError(f"context: expected none, openvocsgg, ratio:SHARE or px:PIXELS, got {shown(text)}") from None


def _read_config(path: Path) -> dict[str, Any]:
    import yaml

    from sgeval.strict_json import read_text

    try:
        settings = yaml.safe_load(read_text(path)) or {}
    except yaml.YAMLError as fault:
        raise SgevalError(f"{path}: expected YAML ({str(fault).splitlines()[0]})") from None
    if not isinstance(settings, dict):
        raise SgevalError(f"{path}: expected options as name: value, got {shown(settings)}")
    for key in settings:
        one_of(f"{path}: option", key, Job.OPTION_NAMES)
    return settings
