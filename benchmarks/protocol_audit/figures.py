"""One picture a finding, from the numbers that the checks saw."""

import io
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from PIL import Image

from sgeval import relscore

from .findings import COSINE, TEXT_COSINES, Finding, twice
from .published import TABLE_1

BLUE, ORANGE, GREEN, PURPLE, GREY = "#0072B2", "#D55E00", "#009E73", "#AA4499", "#666666"  # colour-blind safe
STYLE: Any = {
    "font.size": 9.0,
    "axes.titlesize": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "axes.axisbelow": True,
    "legend.frameon": False,
    "legend.fontsize": 8.0,
    "figure.dpi": 100.0,
    "savefig.dpi": 200.0,
}


def draw(findings: list[Finding], folder: Path) -> list[Path]:
    """Write the figures into a folder, made when absent, and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    numbers = {finding.name: finding.numbers for finding in findings}
    drawers = {"PF1": theta, "PF2": ref, "PF3": double_softmax, "PF4": softmax_scores}
    paths = []
    for name, drawer in drawers.items():
        with plt.rc_context(STYLE):
            figure = drawer(numbers[name])
            path = folder / f"{name.lower()}.png"
            pixels = io.BytesIO()
            figure.savefig(pixels)
            plt.close(figure)
        with Image.open(pixels) as picture:
            small = picture.convert("RGB").quantize(
                64, dither=Image.Dither.NONE
            )  # a third of the bytes, same to the eye
        small.save(path, optimize=True)
        paths.append(path)
    return paths


def two(title: str, height: float = 4.1) -> tuple[Figure, Axes, Axes]:
    """Two panels under one title."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(9.2, height), layout="constrained")
    figure.suptitle(title, fontsize=11.0, fontweight="bold")
    return figure, left, right


def theta(numbers: dict[str, Any]) -> Figure:
    """PF1: simulated and printed θ against Prec, with the line 50 + Prec/2."""
    figure, left, right = two(
        "The released θ is 50 + Prec/2 on average; seven of eight printed θ lie within 1.2 points"
    )
    for axes in (left, right):
        axes.set(xlabel="Prec (%)", ylabel="θ (%)")
    line = np.array([0.0, 100.0])
    settings = numbers["settings"]
    precision = [100 * one["precision"] for one in settings]
    left.plot(line, 50 + line / 2, color=GREY, lw=1.2, label="50 + Prec/2")
    equation, released = ([100 * one[key] for one in settings] for key in ("equation", "released"))
    left.scatter(precision, equation, s=26, marker="^", color=BLUE, label="eq. 7: rank of the truth")
    left.scatter(precision, released, s=20, color=ORANGE, label="released: place of the winner in the list")
    for one, said in ((numbers["near"], "misses are near"), (numbers["far"], "misses are far")):
        x, y = 100 * one["precision"], 100 * one["equation"]
        left.scatter([x], [y], s=46, facecolor="white", edgecolor=BLUE, lw=1.4, marker="^", zorder=3)
        left.annotate(said, (x, y), (x - 3, y), color=BLUE, fontsize=8, ha="right", va="center")
    left.scatter(
        [], [], s=46, facecolor="white", edgecolor=BLUE, lw=1.4, marker="^", label="eq. 7: two models of the same Prec"
    )
    left.set(xlim=(-2, 102), ylim=(25, 102), title="Simulated: 2 to 60 candidates, five strengths of the model")
    left.legend(loc="lower right")

    near = np.array([5.0, 35.0])
    right.plot(near, 50 + near / 2, color=GREY, lw=1.2, label="50 + Prec/2")
    beside = {
        "PSG NegCLIP B-32": (-5, 5, "right"),
        "PSG BLIP2": (-2, 9, "right"),
        "PSG SigLIP": (6, -9, "left"),
        "VG NegCLIP B-32": (-6, 4, "right"),
        "VG CLIP L-14": (4, -20, "left"),
    }
    for data, colour, marker in (("PSG", GREEN, "s"), ("VG", PURPLE, "o")):
        rows = [row for row in TABLE_1 if row.data == data]
        right.scatter([r.precision for r in rows], [r.theta for r in rows], s=30, c=colour, marker=marker, label=data)
        for row in rows:
            off = row.theta - 50 - row.precision / 2
            x, y, side = beside.get(f"{data} {row.model}", (6, -9, "left"))
            text = f"{row.model.split()[0]} {off:+.2f}".replace(" -", " −")
            spot = (row.precision, row.theta)
            right.annotate(text, spot, (x, y), textcoords="offset points", color=colour, fontsize=7.5, ha=side)
    right.set(xlim=(5, 35), ylim=(51, 69), title="Printed: Table 1, with the distance from the line in points")
    right.legend(loc="upper left")
    return figure


def ref(numbers: dict[str, Any]) -> Figure:
    """PF2: each printed Ref beside its bound; both formulas against the text-text cosine."""
    figure, left, right = two(
        "The printed Ref exceeds every harmonic mean with the Score; the released formula gives about 2s", 4.4
    )
    rows = numbers["rows"][::-1]
    heights = np.arange(len(rows))
    left.barh(
        heights,
        [one["bound"] for one in rows],
        height=0.62,
        color="#BFD9EA",
        label="2s/(1+s): the most a harmonic mean can be",
    )
    left.scatter(
        [one["score"] for one in rows], heights, s=20, marker="D", color=BLUE, label="printed Score s (NegCLIP)"
    )
    left.scatter([one["ref"] for one in rows], heights, s=24, color=ORANGE, label="printed Ref (RefNegCLIP)")
    names = [f"T{one['table']} {one['subset']}, {one['model'].removesuffix(' 7B').removesuffix(' 8B')}" for one in rows]
    left.set_yticks(heights, [name.replace(" all,", "") for name in names], fontsize=7.5)
    left.set(xlim=(0, 53), xlabel="percent", title="Printed: Tables 3 to 5")
    left.grid(visible=False, axis="y")
    left.set_ylim(-0.6, len(rows) + 2.4)
    left.legend(loc="upper left", ncols=1)

    texts = np.linspace(0.0, 1.0, 201)
    released = 100 * relscore.openvocsgg_ref_score(COSINE, texts)
    right.plot(texts, released, color=ORANGE, lw=2)
    right.plot(texts, 100 * relscore.ref_score(COSINE, texts), color=BLUE, lw=2)
    right.text(0.09, 45, "released: s of the annotated text\nwith 100 x text cosine", color=ORANGE, va="top")
    right.text(0.36, 26.5, "eq. 6: s of the predicted text\nwith text cosine", color=BLUE, va="top")
    right.axhline(200 * COSINE, color=GREY, lw=1, ls="--")
    right.text(0.99, 200 * COSINE + 0.6, f"2s = {200 * COSINE:.0f}", color=GREY, ha="right", fontsize=8)
    right.axvspan(*TEXT_COSINES, color="#F3F3F3", zorder=0)
    right.text(
        sum(TEXT_COSINES) / 2,
        2,
        "plausible for texts that\nshare subject and object",
        ha="center",
        fontsize=8,
        color=GREY,
    )
    right.set(xlim=(0, 1), ylim=(0, 53), xlabel="cosine of the predicted and the annotated text", ylabel="Ref (%)")
    right.set_title(f"Simulated: Ref at an image-text cosine s of {COSINE}")
    return figure


def double_softmax(numbers: dict[str, Any]) -> Figure:
    """PF3: what a second softmax makes of a probability, and where the printed scores lie."""
    title = "Softmax twice: scores stay in 26.9 to 73.1 %, where the printed BLIP2 scores lie"
    figure, axes = plt.subplots(figsize=(8.2, 4.3), layout="constrained")
    figure.suptitle(title, fontsize=11.0, fontweight="bold")
    low, high = (100 * edge for edge in numbers["band"])
    axes.axhspan(low, high, color="#E9F1F7", zorder=0)
    p = np.linspace(0.0, 1.0, 201)
    axes.plot(100 * p, 100 * p, color=GREY, lw=1.2, ls="--", label="softmax once")
    axes.plot(100 * p, 100 * twice(p), color=BLUE, lw=2, label="softmax twice")
    axes.text(2, high + 1.5, f"{high:.2f} %: the most", color=BLUE, fontsize=8.5)
    axes.text(36, low - 1.5, f"{low:.2f} %: the least", color=BLUE, fontsize=8.5, va="top")
    for one, colour, marker, side in zip(numbers["printed"], (GREEN, PURPLE), "so", ("left", "right")):
        x, y = 100 * one["undone"], one["score"]
        label = f"printed, Table 1, {one['data']}: {y:.2f} %"
        axes.plot([x, x], [0, y], color=colour, lw=1, ls=":")
        axes.scatter([x], [y], s=42, color=colour, marker=marker, zorder=3, label=label)
        axes.text(x + (0.8 if side == "left" else -0.8), 4, f"{x:.1f} %", color=colour, ha=side)
    axes.set(xlim=(0, 100), ylim=(0, 100), ylabel="score after the second softmax (%)")
    axes.set_xlabel("probability of class 0, “does not match”, after one softmax (%)")
    axes.legend(loc="upper left")
    return figure


def softmax_scores(numbers: dict[str, Any]) -> Figure:
    """PF4: the mean softmax falls as neighbours join while the cosine stays; the printed Score beside the printed Prec."""
    figure, left, right = two("softmax(100 x cosine) depends on the neighbours: one cosine, many Scores")
    lengths = numbers["lengths"]
    left.axhline(
        100 * COSINE, color=GREY, lw=1.6, ls="--", label=f"cosine of the truth x 100: {100 * COSINE:.0f} always"
    )
    for (spread, means), colour, marker in zip(numbers["means"].items(), (BLUE, ORANGE, GREEN), "os^"):
        label = f"mean softmax, others’ cosines {COSINE} ± {spread}"
        left.plot(lengths, [100 * mean for mean in means], color=colour, marker=marker, ms=4, label=label)
    low, high = np.array(numbers["percentiles"]).T
    left.fill_between(
        lengths,
        100 * low,
        100 * high,
        color=ORANGE,
        alpha=0.13,
        lw=0,
        label="softmax at ± 0.01, 5th to 95th percentile",
    )
    left.set(xlim=(0, 31), ylim=(0, 92), xlabel="candidates in the list, |L|", ylabel="Score of the truth (%)")
    left.set_title("Simulated: the truth’s cosine never changes")
    left.legend(loc="upper right")

    line = np.array([0.0, 40.0])
    low, high = min(numbers["ratios"]), max(numbers["ratios"])
    right.fill_between(line, low * line, high * line, color="#E9F1F7", label=f"Score = {low:.2f} to {high:.2f} x Prec")
    for data, colour, marker in (("PSG", GREEN, "s"), ("VG", PURPLE, "o")):
        rows = [row for row in TABLE_1 if row.data == data and row.method == "cosine"]
        right.scatter([r.precision for r in rows], [r.score for r in rows], s=34, c=colour, marker=marker, label=data)
        for row in rows:
            text = f"{row.model} {row.score / row.precision:.2f}"
            spot = (row.precision, row.score)
            right.annotate(text, spot, (7, -10), textcoords="offset points", color=colour, fontsize=8)
    right.set(
        xlim=(15, 37), xticks=range(15, 40, 5), ylim=(12, 30), xlabel="printed Prec (%)", ylabel="printed Score (%)"
    )
    right.set_title("Printed: Table 1, rows “cosine”, with Score/Prec")
    right.legend(loc="upper left")
    return figure
