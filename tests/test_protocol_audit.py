"""The protocol audit: its printed numbers, its four checks, that each can fail, and its figures.

Printed numbers are typed here a second time, from the tables of paper 1. Simulated ones are held against loops in plain
Python that share no code with the audit.
"""

import doctest
import json
import math
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from benchmarks.protocol_audit import audit, findings
from benchmarks.protocol_audit.published import TABLE_1, TABLE_3, TABLE_4, TABLE_5, TABLES_3_TO_5
from sgeval import ranks, relscore

FOLDER = Path(audit.__file__).parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def all_four():
    return {finding.name: finding for finding in findings.all_findings()}


class TestPublished:
    def test_table_1(self):
        assert [(row.data, row.model, row.method, row.score, row.precision, row.theta) for row in TABLE_1] == [
            ("PSG", "NegCLIP B-32", "cosine", 24.47, 30.18, 66.10),
            ("PSG", "CLIP L-14", "cosine", 23.64, 27.77, 63.14),
            ("PSG", "SigLIP", "sigmoid", 17.78, 25.23, 62.36),
            ("PSG", "BLIP2", "ITM", 67.38, 24.19, 62.29),
            ("VG", "NegCLIP B-32", "cosine", 18.84, 22.75, 64.98),
            ("VG", "CLIP L-14", "cosine", 20.73, 23.80, 61.85),
            ("VG", "SigLIP", "sigmoid", 23.69, 17.55, 58.66),
            ("VG", "BLIP2", "ITM", 65.20, 9.38, 53.49),
        ]

    def test_table_3(self):
        assert [(row.model, row.score, row.ref, row.clip, row.siglip, row.precision) for row in TABLE_3] == [
            ("LLaVA-OneVision 7B", 24.02, 47.75, 19.52, 10.02, 16.07),
            ("InternVL3 8B", 23.94, 47.73, 19.60, 11.26, 30.97),
            ("Qwen2.5-VL 7B", 23.88, 47.98, 19.55, 9.90, 14.01),
            ("GPT-4o-mini", 24.00, 47.88, 19.81, 11.27, 16.23),
            ("GPT-4o", 23.97, 47.76, 19.82, 10.38, 18.05),
        ]

    def test_tables_4_and_5(self):
        found = {
            (row.table, row.subset, row.model.split()[0]): (row.score, row.ref, row.precision)
            for row in TABLE_4 + TABLE_5
        }
        assert found == {
            (4, "ratio low", "InternVL3"): (23.91, 47.45, 29.22),
            (4, "ratio high", "InternVL3"): (24.15, 47.97, 40.86),
            (4, "ratio low", "LLaVA-OneVision"): (23.89, 47.46, 10.65),
            (4, "ratio high", "LLaVA-OneVision"): (24.11, 48.01, 23.88),
            (5, "distant yes", "InternVL3"): (23.78, 47.27, 36.13),
            (5, "distant no", "InternVL3"): (23.01, 45.53, 30.08),
            (5, "distant yes", "LLaVA-OneVision"): (24.01, 47.34, 11.67),
            (5, "distant no", "LLaVA-OneVision"): (22.98, 45.65, 3.7),
        }
        assert {row.table for row in TABLE_3} == {3}
        assert len(TABLES_3_TO_5) == 13


def slow_setting(scores):
    """Means over the rows of a list of lists, the truth first: Prec, released θ, θ of eq. 7; no ties."""
    right, released, equation = [], [], []
    for row in scores:
        best = row.index(max(row))
        right.append(best == 0)
        released.append(1 - best / len(row))
        equation.append(1 - sorted(row, reverse=True).index(row[0]) / len(row))
    return [sum(values) / len(values) for values in (right, released, equation)]


class TestTheta:
    def test_holds(self, all_four):
        assert all_four["PF1"].holds, all_four["PF1"].line

    @pytest.mark.parametrize("precision", [Fraction(0), Fraction(1, 4), Fraction(9, 10), Fraction(1)])
    def test_expectation_is_exact(self, precision):
        """Every winner enumerated: the truth with probability Prec, else each of the others equally."""
        for length in range(2, 40):
            chances = [precision] + [(1 - precision) / (length - 1)] * (length - 1)
            expected = sum(chance * (1 - Fraction(place, length)) for place, chance in enumerate(chances))
            assert expected == Fraction(1, 2) + precision / 2
            thetas = ranks.openvocsgg_theta(np.arange(length), np.full(length, length))
            assert float(np.dot(np.array(chances, dtype=float), thetas)) == pytest.approx(float(expected), abs=1e-12)

    def test_a_setting_by_a_slow_loop(self):
        scores = findings.exchangeable(np.random.default_rng(5), 7, 1.0)[:3000]
        found = findings.setting(scores)
        precision, released, equation = slow_setting(scores.tolist())
        assert found["precision"] == pytest.approx(precision)
        assert found["released"] == pytest.approx(released)
        assert found["equation"] == pytest.approx(equation)
        assert found["released_off"] == pytest.approx(released - 0.5 - precision / 2)

    def test_printed_differences(self, all_four):
        """66.10 − 65.09, 63.14 − 63.885, 62.36 − 62.615, 62.29 − 62.095; VG: 61.375, 61.9, 58.775, 54.69."""
        expected = [1.010, -0.745, -0.255, 0.195, 3.605, -0.050, -0.115, -1.200]
        assert all_four["PF1"].numbers["off"] == pytest.approx(expected, abs=1e-9)

    def test_near_and_far_misses(self, all_four):
        """|L| = 12, Prec about 0.28. Eq. 7: 0.28 + 0.72 x 11/12 = 0.94 and 0.28 + 0.72 x 1/12 = 0.34; released 0.64."""
        near, far = all_four["PF1"].numbers["near"], all_four["PF1"].numbers["far"]
        assert near["equation"] == pytest.approx(0.94, abs=0.01)
        assert far["equation"] == pytest.approx(0.34, abs=0.01)
        assert near["released"] == pytest.approx(0.64, abs=0.01)
        assert far["released"] == pytest.approx(0.64, abs=0.01)

    def test_fails_when_early_distractors_win(self):
        def early(rng, length, strength):
            scores = findings.exchangeable(rng, length, strength)
            scores[:, 1] += 0.3
            return scores

        assert not findings.theta_line(draw=early).holds

    def test_fails_when_printed_rows_are_elsewhere(self):
        rows = [replace(row, theta=row.theta + 9) for row in TABLE_1]
        assert not findings.theta_line(rows).holds


class TestRef:
    def test_holds(self, all_four):
        assert all_four["PF2"].holds, all_four["PF2"].line

    def test_the_bound(self, all_four):
        """2 x 0.2402 / 1.2402 = 0.38736 for the first row; no partner from 0 to 1 in a slow scan goes above."""
        assert all_four["PF2"].numbers["rows"][0]["bound"] == pytest.approx(38.736, abs=5e-4)
        for row in all_four["PF2"].numbers["rows"]:
            s = row["score"] / 100
            reached = max(2 * s * (r / 1000) / (s + r / 1000) for r in range(1001))
            assert row["bound"] == pytest.approx(100 * reached)

    def test_implied_cosines(self, all_four):
        """At a text-text cosine of 0.8, r = 80: s = 0.4745 x 80 / (160 − 0.4745) = 0.23796, and so on by row."""
        rows = all_four["PF2"].numbers["rows"]
        found = {(row["subset"], row["model"].split()[0]): row["implied"] for row in rows[5:]}
        assert found == pytest.approx(
            {
                ("ratio low", "InternVL3"): 23.80,
                ("ratio low", "LLaVA-OneVision"): 23.80,
                ("ratio high", "InternVL3"): 24.06,
                ("ratio high", "LLaVA-OneVision"): 24.08,
                ("distant yes", "InternVL3"): 23.71,
                ("distant yes", "LLaVA-OneVision"): 23.74,
                ("distant no", "InternVL3"): 22.83,
                ("distant no", "LLaVA-OneVision"): 22.89,
            },
            abs=0.0055,
        )

    @pytest.mark.parametrize("text_cosine", [0.5, 0.8, 1.0])
    def test_implied_gives_the_printed_value_back(self, text_cosine):
        for row in TABLES_3_TO_5:
            cosine = findings.implied(row.ref, text_cosine) / 100
            assert 100 * float(relscore.openvocsgg_ref_score(cosine, text_cosine)) == pytest.approx(row.ref)

    def test_the_formula_by_a_slow_loop(self, all_four):
        times = [
            2 * (100 * r / 100) / (s / 100 + 100 * r / 100) for s in range(15, 41) for r in range(50, 101)
        ]  # 2sr / (s + r) / s at r = 100 x text cosine
        assert all_four["PF2"].numbers["times"] == pytest.approx([min(times), max(times)])

    @pytest.mark.parametrize("change", [{"ref": 38.0}, {"ref": 50.0}, {"score": 40.0}])
    def test_fails_on_another_row(self, change):
        assert not findings.ref_column([*TABLES_3_TO_5[1:], replace(TABLES_3_TO_5[0], **change)]).holds

    def test_fails_when_models_imply_unlike_cosines(self):
        """47.97 and 47.70 imply 24.06 and 23.92."""
        rows = [replace(row, ref=47.70) if row is TABLE_4[3] else row for row in TABLES_3_TO_5]
        assert not findings.ref_column(rows).holds


def slow_softmax(values):
    weights = [math.exp(value) for value in values]
    return [weight / sum(weights) for weight in weights]


class TestDoubleSoftmax:
    def test_holds(self, all_four):
        assert all_four["PF3"].holds, all_four["PF3"].line

    def test_band(self, all_four):
        """1 / (1 + e) and e / (1 + e)."""
        assert all_four["PF3"].numbers["band"] == pytest.approx([0.2689414, 0.7310586], abs=1e-7)

    @pytest.mark.parametrize("logits", [(0.0, 0.0), (3.0, -1.0), (-2.0, 5.0), (30.0, -30.0)])
    def test_two_softmaxes_by_a_slow_loop(self, logits):
        assert float(findings.twice(findings.softmax(logits)[0])) == pytest.approx(
            slow_softmax(slow_softmax(logits))[0]
        )

    def test_undone(self, all_four):
        """(1 + ln(67.38 / 32.62)) / 2 = (1 + 0.72542) / 2; (1 + ln(65.20 / 34.80)) / 2 = (1 + 0.62784) / 2."""
        assert [one["undone"] for one in all_four["PF3"].numbers["printed"]] == pytest.approx(
            [0.86271, 0.81392], abs=1e-5
        )

    @pytest.mark.parametrize("spread", [0.0, 0.1, 0.3, 1.0])
    def test_undone_mean_lies_in_its_range(self, spread):
        p = np.clip(np.random.default_rng(0).normal(0.7, spread, 5000), 0.0, 1.0)
        low, high = findings.mean_once(float(findings.twice(p).mean()))
        assert low - 1e-6 <= p.mean() <= high + 1e-6

    @pytest.mark.parametrize("score", [80.0, 20.0])
    def test_fails_outside_the_band(self, score):
        rows = [replace(row, score=score) if row.method == "ITM" else row for row in TABLE_1]
        assert not findings.double_softmax(rows).holds


class TestSoftmaxScores:
    def test_holds(self, all_four):
        assert all_four["PF4"].holds, all_four["PF4"].line

    def test_ratios(self, all_four):
        """24.47 / 30.18, 23.64 / 27.77, 18.84 / 22.75, 20.73 / 23.80."""
        assert all_four["PF4"].numbers["ratios"] == pytest.approx([0.8108, 0.8513, 0.8281, 0.8710], abs=5e-5)

    def test_shares_by_a_slow_loop(self):
        found = findings.shares(np.random.default_rng(3), 4, 0.02)[:50]
        cosines = np.random.default_rng(3).normal(0.24, 0.02, size=(findings.RELATIONS, 4))[:50].tolist()
        expected = [slow_softmax([24.0, *(100 * value for value in row[1:])])[0] for row in cosines]
        assert found.tolist() == pytest.approx(expected)

    def test_a_constant_changes_nothing(self, all_four):
        first, second, third = all_four["PF4"].numbers["shifted"]
        assert first == pytest.approx(second)
        assert second == pytest.approx(third)

    def test_fails_on_another_ratio(self):
        rows = [replace(row, score=row.precision) if row.method == "cosine" else row for row in TABLE_1]
        assert not findings.softmax_scores(rows).holds

    def test_fails_where_the_score_is_the_cosine(self, monkeypatch):
        monkeypatch.setattr(findings, "shares", lambda rng, length, spread: np.full(100, 0.24))
        assert not findings.softmax_scores().holds


class TestScript:
    def test_examples(self):
        failed, run = doctest.testmod(findings)
        assert run >= 4 and failed == 0

    def test_figures(self, tmp_path, capsys):
        assert audit.main(["--out", str(tmp_path / "new")]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split(":")[0] for line in lines] == [f"PF{number} holds" for number in (1, 2, 3, 4)]
        written = sorted((tmp_path / "new").iterdir())
        assert [path.name for path in written] == ["pf1.png", "pf2.png", "pf3.png", "pf4.png"]
        for path in written:
            assert path.stat().st_size < 120_000
            with Image.open(path) as new, Image.open(FOLDER / "figures" / path.name) as kept:
                assert new.size == kept.size
                assert len(set(new.convert("L").tobytes())) > 10  # not a blank page

    def test_check_alone_draws_nothing(self, tmp_path, capsys):
        assert audit.main(["--check", "--json", "--out", str(tmp_path / "new")]) == 0
        assert [one["name"] for one in json.loads(capsys.readouterr().out)] == ["PF1", "PF2", "PF3", "PF4"]
        assert not (tmp_path / "new").exists()

    def test_a_failed_check_ends_with_1(self, monkeypatch, all_four, capsys):
        changed = [replace(all_four["PF3"], holds=False), all_four["PF4"]]
        monkeypatch.setattr(audit, "all_findings", lambda: changed)
        assert audit.main(["--check"]) == 1
        assert capsys.readouterr().out.startswith("PF3 FAILS: ")


class TestPage:
    def test_pf1_differences(self, all_four):
        shown = [f"{value:+.3f}".replace("-", "−") for value in all_four["PF1"].numbers["off"]]
        assert f"| PSG | {' | '.join(shown[:4])} |" in README
        assert f"| VG | {' | '.join(shown[4:])} |" in README

    def test_pf2_rows(self, all_four):
        for row in all_four["PF2"].numbers["rows"]:
            place = f"{row['table']}, {row['subset']}".removesuffix(", all")
            low, high = sorted(row["implied_range"])
            shown = (
                f"| {place} | {row['model']} | {row['score']:.2f} | {row['ref']:.2f} | {row['bound']:.2f} | "
                f"{row['ratio']:.3f} | {row['implied']:.2f} ({low:.2f}–{high:.2f}) |"
            )
            assert shown in README, shown

    def test_other_numbers(self, all_four):
        one, two, three, four = (all_four[name].numbers for name in ("PF1", "PF2", "PF3", "PF4"))
        text = " ".join(README.split())
        worst = max(abs(row["released_off"]) for row in one["settings"])
        widest = max(row["equation_off"] for row in one["settings"])
        assert f"({100 * worst:.2f} points at most)" in text
        assert f"up to {100 * widest:.1f} points above" in text
        assert "{:.3f} to {:.3f} times".format(*two["times"]) in text
        assert f"more than {math.floor(100 * two['moves']['equation'])} %" in text
        assert f"within {min(two['apart'].values()):.2f} to {max(two['apart'].values()):.2f} points" in text
        ranges = ["{:.1f}–{:.1f}".format(*(100 * edge for edge in row["undone_range"])) for row in three["printed"]]
        assert f"the mean of p lies in {ranges[0]} and {ranges[1]} %" in text
        low, high = four["percentiles"][four["lengths"].index(5)]
        assert f"{100 * low:.1f} to {100 * high:.1f} % (5th to 95th percentile)" in text

    def test_its_figures_are_there(self):
        shown = re.findall(r"!\[[^]]+\]\(([^)]+)\)", README)
        assert len(shown) == 4
        assert all((FOLDER / name).is_file() for name in shown)
