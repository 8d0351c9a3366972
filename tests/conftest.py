"""Shared fixtures: a fake encoder that counts its calls, pictures, random graphs, and the slow reference."""

import hashlib
import socket
import sys
import threading

import numpy as np
import pytest
from PIL import Image

pytest.register_assert_rewrite("cache_kit", "report_kit", "resume_kit", "row_kit", "theta_kit", "vg150_kit")


class FakeEncoder:
    """Features are drawn from a generator seeded with a digest of the crop's pixels or of the text.

    Every region and every text therefore has its own fixed vector, whatever stands beside it in a batch. What was
    encoded is kept in `crops` and `texts`, call by call.
    """

    name = "fake"
    score_rule = "cosine"
    template = "{subject} {predicate} {object}"
    image_mode = "shortest"
    image_size = 16
    fill = (1, 2, 3)
    dimensions = 8
    text_limit = 40  # characters; a longer text counts as truncated

    def __init__(self, special=None):
        self.special = special or {}  # text -> features, to plant zero vectors, NaN and chosen angles
        self.crops, self.texts = [], []

    def signature(self):
        return {"model": self.name, "weights": "none"}

    def prepare(self, crop):
        return crop

    def encode_images(self, crops):
        self.crops.append([(crop.size, hashlib.sha256(crop.tobytes()).hexdigest()) for crop in crops])
        return np.stack([self._vector(b"%d %d " % crop.size + crop.tobytes()) for crop in crops])

    def encode_texts(self, texts):
        self.texts.append(list(texts))
        return np.stack([np.asarray(self.special.get(text, self._vector(text.encode())), float) for text in texts])

    def truncated(self, texts):
        return np.array([len(text) > self.text_limit for text in texts], dtype=bool)

    def score(self, images, texts):
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.array([float(a @ b / (np.sqrt(a @ a) * np.sqrt(b @ b))) for a, b in zip(images, texts)])

    def _vector(self, data):
        seed = int.from_bytes(hashlib.sha256(data).digest()[:7], "big")
        return np.random.default_rng(seed).standard_normal(self.dimensions) + 0.7  # most cosines above 0

    @property
    def n_crops(self):
        return sum(map(len, self.crops))

    @property
    def n_texts(self):
        return sum(map(len, self.texts))


class SteadyEncoder(FakeEncoder):
    """Scores a text by the number it was given, whatever the picture: to work results by hand.

    `values` maps texts to cosines with any crop. The cosine of two texts is 1 when they are equal, else `alike`.
    """

    name = "steady"

    def __init__(self, values, alike=0.5):
        super().__init__()
        self.values, self.alike = values, alike

    def encode_images(self, crops):
        super().encode_images(crops)
        return np.full((len(crops), 1), -1.0)  # -1 marks a picture; texts are numbered from 0

    def encode_texts(self, texts):
        super().encode_texts(texts)
        order = list(self.values)
        return np.array([[float(order.index(text))] for text in texts])

    def score(self, images, texts):
        order = list(self.values.values())
        rows = zip(np.asarray(images)[:, 0], np.asarray(texts)[:, 0])
        return np.array([order[int(t)] if i < 0 else 1.0 if i == t else self.alike for i, t in rows], dtype=float)


def make_picture(seed, width=64, height=48):
    """An RGB picture of noise, the same for the same seed."""
    pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
    return Image.fromarray(pixels)


CATEGORIES = ("person_1", "dog", "wall-other-merged", "t-shirt", "2_horse", "table")
PREDICATES = (
    "on",
    "On",
    "in_front_of",
    "in-front-of ",
    "riding",
    "next to",
    "a predicate of very many words",
)


def make_graph(rng, image_id, *, size=(64, 48), max_objects=6, max_relations=12):
    """A random row: boxes over the edge, doubles, self relations, several predicates a pair, or nothing at all."""
    width, height = size
    objects = []
    for number in range(int(rng.integers(0, max_objects + 1))):
        x, y = rng.uniform(-8, width - 4), rng.uniform(-8, height - 4)
        box = [round(float(v), 2) for v in (x, y, rng.uniform(9, width), rng.uniform(9, height / 2))]
        objects.append({"id": 3 * number + 1, "category": CATEGORIES[rng.integers(len(CATEGORIES))], "bbox": box})
    relations = []
    for _ in range(int(rng.integers(0, max_relations + 1)) if objects else 0):
        ends = [objects[index]["id"] for index in rng.integers(len(objects), size=2)]
        predicate = PREDICATES[rng.integers(len(PREDICATES))]
        score = round(float(rng.uniform()), 3)
        relations.append({"subject_id": ends[0], "object_id": ends[1], "predicate": predicate, "score": score})
        if rng.uniform() < 0.2:
            relations.append({**relations[-1], "predicate": predicate.upper()})  # a double, spelt differently
    return {"image_id": image_id, "width": width, "height": height, "objects": objects, "relations": relations}


@pytest.fixture
def fake_encoder():
    return FakeEncoder


@pytest.fixture
def steady_encoder():
    return SteadyEncoder


@pytest.fixture
def picture():
    return make_picture


@pytest.fixture
def crops():
    generator = np.random.default_rng(0)
    return [Image.fromarray(generator.integers(0, 255, (40, 60, 3), dtype=np.uint8)) for _ in range(7)]


@pytest.fixture
def random_graphs():
    def make(seed, count, **shape):
        rng = np.random.default_rng(seed)
        graphs = [make_graph(rng, f"img{number:03d}", **shape) for number in range(count)]
        return graphs, {graph["image_id"]: make_picture(number) for number, graph in enumerate(graphs)}

    return make


@pytest.fixture
def two_objects():
    """A row with two boxes, 10 x 10 pixels each, and the given relations as (subject, predicate, object)."""

    def make(image_id="a", relations=((0, "on", 1),), **more):
        return {
            "image_id": image_id,
            "objects": [
                {"id": 0, "category": "dog", "bbox": [5, 5, 10, 10]},
                {"id": 1, "category": "mat", "bbox": [20, 10, 10, 10]},
            ],
            "relations": [{"subject_id": s, "predicate": p, "object_id": o} for s, p, o in relations],
            **more,
        }

    return make


@pytest.fixture(scope="session")
def reference():
    from reference import relclip_reference

    return relclip_reference


@pytest.fixture(scope="session")
def checkpoints(tmp_path_factory):
    """Folders of tiny transformers models by kind: clip, siglip, blip-2."""
    from tiny_models import KINDS, PARTS, write_folder

    root = tmp_path_factory.mktemp("models")
    return {kind: write_folder(root / kind, *PARTS[kind]()) for kind in KINDS}


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    """A headless Chromium; without one the test is skipped."""
    from browser_kit import Browser, chromium

    if chromium() is None:
        pytest.skip("no Chromium here; .ci/browser installs one where it may")
    browser = Browser(tmp_path_factory.mktemp("profile"))
    yield browser
    browser.close()


@pytest.fixture
def nobody():
    """A port of this machine that nobody should come to; the visitors that came."""
    came, server = [], socket.create_server(("127.0.0.1", 0))

    def listen():
        while True:
            try:
                one, _ = server.accept()
            except OSError:
                return
            came.append(one.recv(100))
            one.close()

    threading.Thread(target=listen, daemon=True).start()
    yield server.getsockname()[1], came
    server.close()


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """`datasets` asks no Hub, where a test has it."""
    if (host := sys.modules.get("datasets")) is not None:
        monkeypatch.setattr(host.config, "HF_HUB_OFFLINE", True)


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """The folder of each data set by its name, not to be changed."""
    from data_kit import DATA_SETS, make_folder

    return {name: make_folder(name, tmp_path_factory.mktemp("sets") / name) for name in DATA_SETS}


@pytest.fixture
def psg(tmp_path):
    """A folder of PSG of its own, to be changed."""
    from data_kit import make_folder

    return make_folder("psg", tmp_path / "psg")


@pytest.fixture
def load(tmp_path):
    """`sgeval.load_dataset` with a cache of its own."""
    from sgeval import load_dataset

    def run(name, *args, **options):
        return load_dataset(name, *args, cache_dir=tmp_path / "cache", **options)

    return run
