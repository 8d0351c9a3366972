"""From flags and a YAML file to a run folder of role values: no model, no pictures, nothing to resume."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from sgeval import situation
from sgeval.cli.scoring import DEFAULT_BOOTSTRAP, read_settings, refuse_existing
from sgeval.errors import SgevalError, one_of, shown
from sgeval.formats import read_graphs
from sgeval.runs import Run, describe_file, read_run, write_run

SPLITS = ("train", "test")
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
        if settings.get("split") is not None:
            one_of("split", settings["split"], SPLITS)
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
        for flag, path in (("predictions", self.predictions), ("references", self.references)):
            found |= {flag: describe_file(path)}
        found |= {"format": self.form("predictions"), "references_format": self.form("references")}
        return found | {key: self.settings[key] for key in ("split", "limit") if self.settings.get(key)}

    def rows(self, flag: str) -> list[Any]:
        """The rows of a file: of frames, or scene graphs; of the references those of the split that was asked for."""
        path: Path = getattr(self, flag)
        rows = read_graphs(path, self.form(flag))
        split = self.settings.get("split")
        if flag == "predictions" or split is None:
            return rows
        said = [row["extra"].get("set") if _has_extra(row) else None for row in rows]
        if None in said:
            place = f"references[{said.index(None)}].extra.set"
            raise SgevalError(f"{place}: expected {' or '.join(SPLITS)}, since a split was asked for, got nothing")
        kept = [row for row, own in zip(rows, said, strict=True) if own == split]
        if not kept:
            raise SgevalError(f"references: expected graphs of the split {shown(split)}, got none")
        return kept


def _has_extra(row: Any) -> bool:
    return isinstance(row, Mapping) and isinstance(row.get("extra"), Mapping)


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
