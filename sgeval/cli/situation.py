"""From flags and a YAML file to a run folder of role values: no model, no pictures, nothing to resume."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgeval import situation
from sgeval.cli.scoring import DEFAULT_BOOTSTRAP, read_settings, refuse_existing
from sgeval.data.source import check_split, read_source, source_files
from sgeval.errors import SgevalError
from sgeval.runs import Run, describe_file, read_run, write_run

SETTINGS = ("format", "references_format", "split", "limit", "name", *(item.name for item in fields(situation.Options)))
"""What may stand in a YAML file."""


@dataclass(frozen=True)
class Job:
    """One run as the command line asks for it."""

    predictions: Path
    references: Path
    out: Path
    settings: Mapping[str, Any]

    @classmethod
    def make(
        cls, predictions: Path, references: Path, out: Path, flags: Mapping[str, Any], config: Path | None
    ) -> "Job":
        """The job of these flags over the settings of the YAML file."""
        settings = {**(read_settings(config, SETTINGS) if config else {}), **flags}
        return cls(predictions, references, out, settings)

    def options(self) -> situation.Options:
        """The metric's options; the command line bootstraps by default."""
        names = {item.name for item in fields(situation.Options)}
        given = {key: value for key, value in self.settings.items() if key in names}
        return situation.make_options({"bootstrap": DEFAULT_BOOTSTRAP, **given})

    def form(self, flag: str) -> str:
        """The form of a file. Predictions and references have one each: a data set's folder holds no predictions."""
        key = "format" if flag == "predictions" else "references_format"
        return str(self.settings.get(key) or "sgeval")

    def inputs(self) -> dict[str, Any]:
        """What the run is made from."""
        found: dict[str, Any] = {}
        sources = {flag: (path, self.form(flag)) for flag, path in self.files()}
        check_split(self.settings.get("split"), sources.values())
        for flag, (path, form) in sources.items():
            if path.is_dir() and form == "sgeval":
                hint = f"a folder of SSG needs --{'references-' if flag == 'references' else ''}format ssg"
                raise SgevalError(f"{flag}: expected a file, got the folder {path}; {hint}")
            found |= {flag: describe_file(path, source_files(path, form))}
        found |= {"format": self.form("predictions"), "references_format": self.form("references")}
        return found | {key: self.settings[key] for key in ("split", "limit") if self.settings.get(key)}

    def files(self) -> tuple[tuple[str, Path], ...]:
        """What is read, by the name of its flag."""
        return ("predictions", self.predictions), ("references", self.references)

    def rows(self, flag: str) -> list[Any]:
        """The rows of a file, of frames or scene graphs, or those of a data set's folder."""
        return read_source(dict(self.files())[flag], self.form(flag), split=self.settings.get("split"))


def run_job(job: Job, *, overwrite: bool = False) -> Run:
    """Score and write the run folder."""
    options = job.options()
    if job.out.exists() and not job.out.is_dir():
        raise SgevalError(f"out: expected a folder, got the file {job.out}")
    if not overwrite:
        refuse_existing(job.out)
    inputs = job.inputs()
    limit = job.settings.get("limit")
    scoring = situation.score_rows(job.rows("predictions"), job.rows("references"), options, limit=limit)
    write_run(job.out, str(job.settings.get("name") or job.predictions.stem), scoring, inputs)
    return read_run(job.out)
