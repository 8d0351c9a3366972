"""Is a model what its name says? Self-tests that need no second opinion, and golden values that do.

The self-tests look for faults that move every score and raise no error: swapped classes of a matching head, another
activation than the weights were trained with, padding that depends on the batch, texts cut without their end token.
"""

import hashlib
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw

from sgeval import planning
from sgeval.encoders.aliases import ALIASES
from sgeval.encoders.open_clip_family import PACKAGE
from sgeval.errors import shown
from sgeval.images import load_image

if TYPE_CHECKING:
    from sgeval.encoders.dual import Facts

Floats = npt.NDArray[np.float64]

DEMO = "demo"
SHORT = "man on horse"
LONG = " ".join(["a man on a brown horse in a green field under a blue sky beside"] * 2)
WORD = "a"  # one token in every vocabulary we know
DISC = ("a red circle on a white background", "a photo of a dog")
TWICE = (1 / (1 + np.e), np.e / (1 + np.e))
"""0.27-0.73: where a second softmax over two classes puts every score."""


class Encoder(planning.Encoder, Protocol):
    """What the self-tests ask of an encoder beside what scoring does."""

    @property
    def facts(self) -> "Facts":
        """What of the model moves a score."""


class SelfTestWarning(UserWarning):
    """A model that was loaded by its name does not behave as models of that name do."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what, whether it is as it should be, and what was seen."""

    name: str
    ok: bool
    words: str


@dataclass(frozen=True)
class Picture:
    """A picture with known scores. Without `url` it is part of the package."""

    name: str
    url: str | None
    sha256: str | None
    """`None` where nobody has recorded it."""


@dataclass(frozen=True)
class Golden:
    """Published scores of a picture with texts, as the encoder gives them (cosines, or probabilities)."""

    picture: Picture
    texts: tuple[str, ...]
    expected: tuple[float, ...]
    tolerance: float
    source: str
    box: tuple[int, int, int, int] | None = None
    """The part of the picture that is scored, x1 y1 x2 y2; the whole of it without."""


_SCENE = Picture(
    "assets/demo_scenes/images/scene_001.jpg", None, "b2df13307b44c8f0f127b726b1ad47d3231ef878ae3c4669c612cd456b058280"
)
_CATS = Picture(
    "000000039769.jpg",
    "http://images.cocodataset.org/val2017/000000039769.jpg",
    "dea9e7ef97386345f7cff32f9055da4982da5471c48d575146c796ab4563b04e",
)
_CAT = Picture(
    "cat.jpg",
    "https://raw.githubusercontent.com/ivy-llc/models/main/images/cat.jpg",
    "aeb03d243a32cda1caea135dcb3d794bc7f184eb7e2373a55587543cacc92e4b",
)
_BEACH = Picture("demo.jpg", "https://huggingface.co/hf-internal-testing/blip-test-image/resolve/main/demo.jpg", None)
_APPLES = [
    Picture(f"apple-{which}.jpg", f"https://cdn.openai.com/multimodal-neurons/assets/apple/apple-{which}.jpg", None)
    for which in ("ipod", "blank")
]
_CATS_OR_DOGS = ("a photo of a cat", "a photo of a dog")
_THREE = ("a diagram", "a dog", "a cat")
_TWO_APPLES = ("an apple", "a picture of an apple")
_CLIP_TEST = (
    "transformers, tests/models/clip/test_modeling_clip.py, CLIPModelIntegrationTest.test_inference: logits / 100"
)
_IVY_TEST = "ivy-llc/models at c11d08f, ivy_models_tests/clip/test_clip.py: logits of OpenAI's own model / 100"
_SIGLIP_TEST = "transformers, tests/models/siglip/test_modeling_siglip.py, SiglipModelIntegrationTest.test_inference"
_SIGLIP_SCRIPT = (
    "transformers, models/siglip/convert_siglip_to_hf.py: sigmoid of the logits; its pixels were resized by another "
    "library, hence the tolerance"
)
_BLIP_TEST = "transformers, tests/models/blip_2/test_modeling_blip_2.py, test_inference_itm: softmax, class 1"

# The openai weights of open_clip and of transformers are the same numbers. Tolerances leave room for another decoder of
# JPEG files and for TF32 on a GPU.
_CLIP_B32 = Golden(_CATS, _CATS_OR_DOGS, (0.245701, 0.193049), 0.001, _CLIP_TEST)
GOLDEN: dict[str, tuple[Golden, ...]] = {
    "demo": (
        Golden(
            _SCENE,
            ("cup left of box", "cup right of box"),
            (0.90205, 0.17441),
            0.001,
            "computed with these weights when they were shipped: a guard against change, not a second opinion",
            box=(142, 21, 282, 85),
        ),
    ),
    "clip-b32": (_CLIP_B32, Golden(_CAT, _THREE, (0.173713, 0.195950, 0.255069), 0.002, _IVY_TEST)),
    "clip-l14": (Golden(_CAT, _THREE, (0.119255, 0.156604, 0.226724), 0.002, _IVY_TEST),),
    "siglip-so400m": (
        Golden(_APPLES[0], _TWO_APPLES, (0.2237, 0.3396), 0.1, _SIGLIP_SCRIPT),
        Golden(_APPLES[1], _TWO_APPLES, (0.3305, 0.6764), 0.1, _SIGLIP_SCRIPT),
    ),
    "blip2-itm-g": (Golden(_BEACH, ("A woman and her dog sitting in a beach",), (0.9762,), 0.005, _BLIP_TEST),),
    "transformers:openai/clip-vit-base-patch32": (_CLIP_B32,),
    "transformers:google/siglip-base-patch16-224": (
        Golden(_CATS, ("a photo of 2 cats", "a photo of 2 dogs"), (0.31937, 0.00003), 0.005, _SIGLIP_TEST),
    ),
}
"""By model name. For `negclip-b32` none are known."""


def selftest(encoder: Encoder, *, trained: bool = True) -> list[Finding]:
    """Run the self-tests: three pictures and seven texts are encoded.

    `trained=False` leaves out whether a right text scores above a wrong one, which random weights cannot know.
    """
    facts = encoder.facts
    crop, right, wrong = _pair(facts.name)
    other = Image.radial_gradient("L").convert("RGB")
    fitting, cut = _longest(encoder)
    together = encoder.encode_images([encoder.prepare(crop), encoder.prepare(other)])
    alone = encoder.encode_images([encoder.prepare(crop)])
    known, short, border = (
        encoder.encode_texts(texts)
        for texts in ((right, wrong, SHORT, LONG), (SHORT,), [" ".join([WORD] * n) for n in (fitting, fitting + 1)])
    )
    scores = encoder.score(together[[0] * 4], known)
    # What may not depend on the company it is in: of two towers the features, of a matching head its scores.
    if facts.score_rule == "itm":
        first, by_itself = (encoder.score(images[[0]], known[[0]])[:, None] for images in (together, alone))
        known, short, border = (
            encoder.score(together[[0] * len(texts)], texts)[:, None] for texts in (known, short, border)
        )
    else:
        first, by_itself = together[:1], alone
    limit = _tolerance(facts)
    return [
        *([_right_pair(facts.score_rule, (right, scores[0]), (wrong, scores[1]))] if trained else []),
        _activation(encoder),
        _alike("padding", short[0], known[2], limit, "a text alone and beside a long one"),
        _truncation(border, facts.text_length, fitting, cut, limit),
        _finite(facts.score_rule, scores, known, border, first),
        _alike("batches", by_itself[0], first[0], limit, "a picture alone and beside another"),
    ]


def check_on_load(name: str, encoder: Encoder) -> None:
    """Warn, in one line, when an encoder loaded by a name of the table fails a self-test.

    The demo model is left out: it is shipped, and its golden values are tested where it is made.
    """
    if name not in ALIASES or name == DEMO:
        return
    broken = [f"{finding.name}: {finding.words}" for finding in selftest(encoder) if not finding.ok]
    if broken:
        warnings.warn(
            f"model {shown(name)} fails its self-test ({'; '.join(broken)}); do not trust its scores before "
            f"`sgeval doctor --model {name}` is content",
            SelfTestWarning,
            stacklevel=2,
        )


def _pair(name: str) -> tuple[Image.Image, str, str]:
    """A picture, a text that is right of it and one that is wrong."""
    if name == DEMO:
        golden = GOLDEN[DEMO][0]
        right, wrong = golden.texts
        return _crop(golden, PACKAGE / golden.picture.name), right, wrong
    picture = Image.new("RGB", (320, 320), "white")
    ImageDraw.Draw(picture).ellipse((50, 50, 270, 270), fill="red")
    return picture, *DISC


def _longest(encoder: Encoder) -> tuple[int, Floats]:
    """How many words fit without a cut; and for 1, 2, … words, whether they count as cut."""
    cut = encoder.truncated([" ".join([WORD] * count) for count in range(1, encoder.facts.text_length + 2)])
    return int(np.argmax(cut)) if cut.any() else len(cut), cut.astype(float)


def _tolerance(facts: "Facts") -> float:
    """What the company of a batch may move: rounding of float32, of TF32 convolutions on a GPU, of bfloat16."""
    if facts.precision != "fp32":
        return 2e-2
    return 1e-5 if facts.device.startswith("cpu") else 1e-3


def _right_pair(rule: str, right: tuple[str, float], wrong: tuple[str, float]) -> Finding:
    seen = f"{shown(right[0])} {right[1]:.4f}, {shown(wrong[0])} {wrong[1]:.4f}"
    if not right[1] > wrong[1]:
        return Finding("right pair", False, f"a right text does not score above a wrong one: {seen}")
    low, high = TWICE
    if rule == "itm" and low <= wrong[1] and right[1] <= high:
        return Finding("right pair", False, f"both lie in 0.27-0.73, where a second softmax puts every score: {seen}")
    return Finding("right pair", True, f"a right text scores above a wrong one: {seen}")


def _activation(encoder: Encoder) -> Finding:
    """Whether the activations that stand in the model are those that were stated of it."""
    model: Any = getattr(getattr(encoder, "towers", encoder), "model", None)
    if model is None:
        return Finding("activation", False, "there is no model to look into")
    kinds = {_kind(type(module).__name__) for module in model.modules()} - {None}
    alias = ALIASES.get(encoder.facts.name)
    stated = (alias.activation if alias else None) or encoder.facts.activation
    expected = {_kind(part) for part in stated.split("/")} - {None}
    seen = ", ".join(sorted(kind for kind in kinds if kind)) or "neither GELU nor QuickGELU"
    if kinds == expected:
        return Finding("activation", True, f"the model holds {seen}, as stated")
    return Finding("activation", False, f"the model holds {seen}, stated is {stated}")


def _kind(name: str) -> str | None:
    """`quickgelu` or `gelu`, whatever a library calls it; its tanh form counts as GELU.

    >>> [_kind(name) for name in ("QuickGELUActivation", "GELUTanh", "gelu_tanh", "Linear")]
    ['quickgelu', 'gelu', 'gelu', None]
    """
    bare = name.lower().replace("_", "")
    return "quickgelu" if "quickgelu" in bare else "gelu" if "gelu" in bare else None


def _alike(name: str, first: Floats, second: Floats, limit: float, what: str) -> Finding:
    apart = float(np.abs(first - second).max())
    verdict = "are the same" if apart <= limit else "differ"
    return Finding(name, apart <= limit, f"{what} {verdict}: {apart:.1e} apart, {limit:.0e} allowed")


def _truncation(rows: Floats, length: int, fitting: int, cut: Floats, limit: float) -> Finding:
    """Rows: the text that just fits, and one that does not. Cut before its end token, the second is the first."""
    if fitting in (0, len(cut)) or (np.diff(cut) < 0).any():
        return Finding("truncation", False, f"of texts of 1 to {len(cut)} words, {int(cut.sum())} count as cut")
    seen = f"texts over {fitting} words are cut and counted"
    if fitting < length - 2:  # a word of several tokens: the cut falls inside it
        return Finding("truncation", True, f"{seen}; whether they keep their end token could not be seen")
    apart = float(np.abs(rows[1] - rows[0]).max())
    if apart <= limit:
        return Finding("truncation", True, f"{seen}, and keep their end token")
    return Finding("truncation", False, f"{seen}, but lose their end token: {apart:.1e} from the longest that fits")


def _finite(rule: str, scores: Floats, *features: Floats) -> Finding:
    if not all(np.isfinite(values).all() for values in (scores, *features)):
        return Finding("finite", False, "a score or a feature is not a finite number")
    if rule == "itm":
        inside = bool(((scores >= 0) & (scores <= 1)).all())
        return Finding("finite", inside, f"scores are finite and {'within' if inside else 'not within'} 0-1")
    off = max(float(np.abs(np.linalg.norm(values, axis=1) - 1).max()) for values in features)
    return Finding("finite", off <= 1e-4, f"features are finite, their length at most {off:.0e} from 1")


def find_picture(picture: Picture, folder: Path | None) -> tuple[Path | None, str]:
    """The file of a golden picture; without one, what is lacking. A PNG of the same name does too."""
    if picture.url is None:
        return PACKAGE / picture.name, ""
    if folder is None:
        return None, f"needs the picture {picture.name} ({picture.url}); give its folder with --pictures"
    for path in (folder / picture.name, (folder / picture.name).with_suffix(".png")):
        if path.is_file():
            is_another = picture.sha256 and path.suffix != ".png" and _sha256(path) != picture.sha256
            return (None, f"{path} is another picture than {picture.url}") if is_another else (path, "")
    return None, f"needs the picture {picture.name} ({picture.url}), not found in {folder}"


def check_golden(encoder: Encoder, golden: Golden, path: Path) -> Finding:
    """Compare the encoder's scores of the picture in the file with the published ones. Raises `BadImage`."""
    images = encoder.encode_images([encoder.prepare(_crop(golden, path))])
    scores = encoder.score(images[[0] * len(golden.texts)], encoder.encode_texts(golden.texts))
    apart = float(np.abs(scores - np.array(golden.expected)).max())
    ok = apart <= golden.tolerance
    seen = ", ".join(
        f"{shown(text)} {score:.4f} ({expected:.4f})"
        for text, score, expected in zip(golden.texts, scores, golden.expected, strict=True)
    )
    is_same = "" if golden.picture.sha256 and path.suffix != ".png" else "; the picture has no recorded checksum"
    return Finding(
        "golden value",
        ok,
        f"{path.name}: {seen}, {apart:.1e} apart, {golden.tolerance:g} allowed{is_same} [{golden.source}]",
    )


def _crop(golden: Golden, path: Path) -> Image.Image:
    image = load_image(path)
    return image.crop(golden.box) if golden.box else image


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
