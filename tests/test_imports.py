"""Imports stay light and point the right way; and both checks can fail."""

import ast
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import sgeval

PACKAGE = Path(sgeval.__file__).parent
HEAVY = (
    *("torch", "transformers", "open_clip", "evaluate", "datasets", "huggingface_hub"),
    *("pyarrow", "pandas", "jsonschema", "PIL", "numpy", "h5py"),
)
SHELVES = ("sgeval.metrics", "sgeval.datasets_scripts", "sgeval.benchmarks", "evaluate", "datasets")
ENCODERS_ONLY = ("torch", "transformers", "open_clip")


def run(code, path=()):
    """What a fresh interpreter prints; `path` goes first on its module path."""
    start = f"import sys; sys.path[:0] = {[*map(str, path), str(PACKAGE.parent)]!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", start + textwrap.dedent(code)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def heavy_modules(code, path=()):
    """The heavy packages that are loaded after `code` ran in a fresh interpreter."""
    tail = f"\nprint(*[name for name in {HEAVY!r} if name in sys.modules])"
    return set(run(textwrap.dedent(code) + tail, path).split())


def imports(source):
    """Names of the modules a source imports, those inside functions too; `if TYPE_CHECKING:` blocks are passed over."""
    found = set()
    waiting = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
        waiting += ast.iter_child_nodes(node)
    return found


def offenders(folder, forbidden, allowed):
    """(file, module) of every import of a forbidden module in a folder of sources; `allowed` are relative paths."""
    return sorted(
        (str(path.relative_to(folder)), name)
        for path in folder.rglob("*.py")
        if not str(path.relative_to(folder)).startswith(allowed)
        for name in imports(path.read_text(encoding="utf-8"))
        if any(name == one or name.startswith(f"{one}.") for one in forbidden)
    )


class TestLight:
    def test_import_sgeval_loads_nothing_heavy(self):
        assert heavy_modules("import sgeval; sgeval.__version__; dir(sgeval)") == set()

    def test_the_check_can_fail(self, tmp_path):
        """The same check catches numpy, a stranger's heavy module, and a package that pulls one in by the way."""
        assert heavy_modules("import numpy") == {"numpy"}
        (tmp_path / "torch.py").write_text("")
        (tmp_path / "innocent.py").write_text("import torch")
        assert heavy_modules("import innocent", [tmp_path]) == {"torch"}

    def test_scoring_loads_no_model_library(self):
        """`relclipscore` itself needs arrays and pictures; torch only comes with an encoder of its own."""
        loaded = heavy_modules("import sgeval.relclip, sgeval.situation, sgeval.validation, sgeval.runs")
        assert not loaded & {*ENCODERS_ONLY, "evaluate", "datasets", "huggingface_hub"}

    def test_names_come_on_use(self):
        code = """
        import sgeval
        assert callable(sgeval.relclipscore) and 'relclipscore' in dir(sgeval)
        try:
            sgeval.relclip_score
        except AttributeError as fault:
            print(fault)
        """
        assert run(code) == "module 'sgeval' has no attribute 'relclip_score'\n"

    def test_fc84_no_network(self):
        """FC84: with every socket closed, import and a score with an own encoder work, and nobody asks for a hub."""
        code = """
        import socket
        def closed(*_, **__):
            raise OSError("the network was asked for")
        socket.socket = socket.create_connection = socket.getaddrinfo = closed
        import numpy as np
        import sgeval
        class Flat:
            name, score_rule, template = "flat", "cosine", "{subject} {predicate} {object}"
            image_mode, image_size, fill = "squash", 8, (0, 0, 0)
            def signature(self): return {"model": "flat"}
            def prepare(self, crop): return crop
            def encode_images(self, crops): return np.ones((len(crops), 2))
            def encode_texts(self, texts): return np.ones((len(texts), 2))
            def truncated(self, texts): return np.zeros(len(texts), bool)
            def score(self, images, texts): return np.full(len(images), 0.25)
        graph = {"image_id": "a", "objects": [{"id": i, "category": "x", "bbox": [i, 0, 5, 5]} for i in (0, 1)],
                 "relations": [{"subject_id": 0, "object_id": 1, "predicate": "on"}]}
        print(sgeval.relclipscore([graph], images=[np.zeros((9, 9, 3), np.uint8)], model=Flat())["mean_score"])
        """
        assert run(code) == "0.25\n"


class TestDirection:
    def test_only_hub_knows_the_shelves_and_their_hosts(self):
        assert offenders(PACKAGE, SHELVES, allowed=("hub/", "metrics/", "benchmarks/", "datasets_scripts/")) == []

    def test_model_libraries_only_in_the_encoders(self):
        allowed = ("encoders/", "metrics/", "benchmarks/", "datasets_scripts/")
        assert offenders(PACKAGE, ENCODERS_ONLY, allowed) == []

    @pytest.mark.parametrize(
        "source",
        [
            "import evaluate",
            "import datasets as d",
            "from datasets import load_dataset",
            "from sgeval import metrics",
            "from sgeval.metrics.relclipscore import relclipscore",
            "import sgeval.benchmarks.demo_model",
            "def f():\n    from evaluate.loading import load\n",
            "try:\n    import evaluate\nexcept ImportError:\n    pass\n",
            "if TYPE_CHECKING:\n    pass\nelse:\n    import evaluate\n",
        ],
    )
    def test_the_check_can_fail(self, tmp_path, source):
        (tmp_path / "deep").mkdir()
        (tmp_path / "deep" / "planted.py").write_text(source)
        assert offenders(tmp_path, SHELVES, allowed=("hub.py",)), source

    @pytest.mark.parametrize(
        "source",
        [
            "import evaluate_more",
            "import sgeval.validation",
            "from sgeval import files",
            "if TYPE_CHECKING:\n    import datasets\n",
        ],
    )
    def test_the_check_knows_innocents(self, tmp_path, source):
        (tmp_path / "planted.py").write_text(source)
        (tmp_path / "hub.py").write_text("import evaluate")
        assert offenders(tmp_path, SHELVES, allowed=("hub.py",)) == []
