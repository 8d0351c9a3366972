"""What the tests of interrupted runs share: a run to interrupt, and a kill at any of its steps.

Children are forked, so that they start at once: they run the command line's own job with a fake encoder.
"""

import json
import os
import signal
import sqlite3
from pathlib import Path

import numpy as np
from kit import in_child

import sgeval.runs
from sgeval.cli.scoring import RELCLIPSCORE, Job, run_job
from sgeval.journal import Journal
from sgeval.runs import PROGRESS

BATCH = 8
FILES = ("results.json", "items.parquet", "images.parquet")


def prepared(tmp_path, random_graphs, fake_encoder, monkeypatch):
    """A prediction file with references and pictures, and a fake encoder that writes down what it encodes."""
    graphs, pictures = random_graphs(3, 12)
    (tmp_path / "images").mkdir()
    for name, picture in pictures.items():
        picture.save(tmp_path / "images" / f"{name}.png")
    lines = [json.dumps(graph) + "\n" for graph in graphs]
    (tmp_path / "p.jsonl").write_text("".join(lines))
    (tmp_path / "g.jsonl").write_text("".join(lines))
    log = tmp_path / "encoded.log"

    class Logging(fake_encoder):
        def signature(self):
            return super().signature() | {"model": "demo"}  # as the job asks for it

        def encode_images(self, crops):
            with log.open("a") as file:
                file.write("regions\n")
            return super().encode_images(crops)

        def encode_texts(self, texts):
            with log.open("a") as file:
                file.write("texts\n")
            return super().encode_texts(texts).astype(np.float32)

    monkeypatch.setattr("sgeval.setup.load_encoder", lambda *_, **__: Logging())
    monkeypatch.setattr("sgeval.setup.check_setup", lambda *_: (None, "cpu"))
    return Case(tmp_path, log)


class Case:
    def __init__(self, folder: Path, log: Path) -> None:
        self.folder, self.log = folder, log

    def job(self, out: str = "run", **more) -> Job:
        flags = {"model": "demo", "on_invalid": "skip", "batch_size": BATCH, "bootstrap": 20, **more}
        files = {"predictions": self.folder / "p.jsonl", "references": self.folder / "g.jsonl"}
        return Job.make(RELCLIPSCORE, files, self.folder / "images", self.folder / out, flags, None)

    def encoded(self) -> tuple[int, int]:
        """Calls so far: of regions, of texts."""
        lines = self.log.read_text().split() if self.log.exists() else []
        return lines.count("regions"), lines.count("texts")

    def committed(self, out: str = "run") -> tuple[int, int]:
        """Batches in the journal: of regions, of texts."""
        path = self.folder / out / PROGRESS
        if not path.exists():
            return 0, 0
        base = sqlite3.connect(path)
        try:
            kinds = [kind for (kind,) in base.execute("SELECT kind FROM batches")]
        except sqlite3.OperationalError:  # killed before the tables were made
            kinds = []
        finally:
            base.close()
        return kinds.count("regions"), kinds.count("texts")

    def bytes(self, out: str = "run") -> list[bytes]:
        return [(self.folder / out / name).read_bytes() for name in FILES]


class Steps:
    """Wraps every step that leaves something on disk, and kills the process before or after the n-th of them."""

    def __init__(self, fatal: int | None) -> None:
        self.fatal, self.count = fatal, 0

    def wrap(self, function):
        def counted(*args, **keywords):
            self.step()
            out = function(*args, **keywords)
            self.step()
            return out

        return counted

    def step(self) -> None:
        if self.count == self.fatal:
            os.kill(os.getpid(), signal.SIGKILL)
        self.count += 1

    def install(self) -> None:
        Journal.put = self.wrap(Journal.put)
        Path.replace = self.wrap(Path.replace)
        sgeval.runs._new_table = self.wrap(sgeval.runs._new_table)
        Journal.finish = self.wrap(Journal.finish)


def all_steps(case) -> int:
    """How many steps an unbroken run has."""
    reader, writer = os.pipe()

    def work():
        steps = Steps(None)
        steps.install()
        run_job(case.job("count"))
        os.write(writer, str(steps.count).encode())

    assert in_child(work) == 0
    return int(os.read(reader, 99))
