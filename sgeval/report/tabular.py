"""A comparison as a table to be pasted or read by machines: Markdown, CSV, LaTeX."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from sgeval.comparison import Comparison, Group, Line
from sgeval.errors import counted, one_line
from sgeval.report.text import NOTHING, cut, metric_name, number, percent
from sgeval.summary import Interval

HEADINGS = ("#", "system", "score", "difference", "p", "detects")
NOT_RANKED = "Not ranked with runs of other tables, for these numbers measure something else"
FORMULA = re.compile(r"(^|;)(\s*[=+\-@＝＋－＠])")
LIGATURE = re.compile(r"([-`'])(?=\1)|([?!])(?=`)")
MINUS = re.compile(r"(?<![\w-])-(?=\d)")
APART = "\0"  # between characters that LaTeX would print as one; no text on one line has it
LATEX = {
    "\\": r"\textbackslash{}",
    **{char: f"\\{char}" for char in "&%$#_{}"},
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    APART: "{}",
    "–": "--",
    "−": "$-$",
    "<": "$<$",
    ">": "$>$",
}


def title(found: Comparison, key: str) -> str:
    """What a table is of.

    >>> from sgeval.comparison import Comparison
    >>> title(Comparison("theta", ("theta",), 100.0, "picture", 40, (), 0, 0, 2000, 10000, 0), "theta")
    'θ × 100'
    """
    name = metric_name(found.metric)
    whole = name if key in (found.metric, "relclipscore") else f"{name}: {key}"
    return f"{whole}{' × 100' if found.factor != 1 else ', percent'}"


def cells(line: Line, factor: float) -> tuple[str, ...]:
    """A system's row under `HEADINGS`."""
    score = with_ends(line.value, line.interval, factor)
    head = (str(line.rank or NOTHING), shown_name(line.name), score)
    if line.against is None:
        return (*head, *[NOTHING] * 3)
    pair = line.against.found
    sign = "+" if (pair.difference or 0) > 0 else ""
    difference = sign + with_ends(pair.difference, pair.interval, factor)
    return (*head, difference, p_text(line.against.p_adjusted), times(pair.detectable, factor))


def shown_name(name: str) -> str:
    """A system's name as tables and sentences show it, before they escape it in their own way."""
    return one_line(cut(name))


def with_ends(value: float | None, ends: Interval, factor: float) -> str:
    """A score with its interval, if it has one."""
    return " ".join(filter(None, (times(value, factor), ends_text(ends, factor))))


def ends_text(ends: Interval, factor: float) -> str:
    """An interval; empty where there is none."""
    if ends.low is None or ends.high is None:
        return ""
    return f"[{times(ends.low, factor)}, {times(ends.high, factor)}]"


def times(value: float | None, factor: float) -> str:
    """A score as pages and tables print it."""
    return percent(None if value is None else factor * value)


def p_text(value: float | None) -> str:
    """A p-value with three decimals.

    >>> p_text(0.0004), p_text(0.05), p_text(None)
    ('< 0.001', '0.050', '–')
    """
    found = number(value)
    if found is None:
        return NOTHING
    return "< 0.001" if found < 0.001 else f"{found:.3f}"


def differs(group: Group) -> str:
    """Where a group's protocol is not that of the first: empty for the first."""
    if not group.differs:
        return ""
    parts = (
        f"{name} {here or 'none'} here, {there or 'none'} in the first table" for name, there, here in group.differs
    )
    return f"{NOT_RANKED}: {one_line('; '.join(parts))}."


def verdict(group: Group, key: str) -> str:
    """Which systems of a group the test does not tell from the one they are compared with; empty without a test."""
    told = [(shown_name(line.name), line.against) for line in group.lines[key] if line.against]
    if not told:
        return ""
    alike = [name for name, against in told if not against.is_told_apart]
    base = shown_name(told[0][1].name)
    words = [f"Told apart from {base}: {len(told) - len(alike)} of {len(told)}."]
    words += [f"Not told apart: {', '.join(alike)}."] if alike else []
    words += ["The others were not tested against each other (--baseline does so)."] if len(told) > 1 else []
    return " ".join(words)


def adjustment(found: Comparison) -> str:
    """What p-values are adjusted for."""
    if found.n_pairs:
        return f"adjusted for {counted(found.n_pairs, 'pair')}, since the best was picked from its scores (step-down max T)"
    return f"adjusted for {counted(found.n_tests, 'test')} (Holm)"


def notes(found: Comparison) -> list[str]:
    """How the table was made."""
    if not found.n_tests:
        return []
    return [
        f"Difference: to the system without one. Brackets: 95 % bootstrap intervals over {counted(found.n_units, found.unit)}"
        f", {found.replicates:,} replicates, the same draws for both systems. p: two-sided sign-flip test, {found.flips:,} "
        f"flips, {adjustment(found)}. Detects: the smallest difference that these {found.unit}s tell from 0 in one test at "
        f"5 %, not adjusted, with a power of 80 %. Seed {found.seed}."
    ]


def signatures(group: Group) -> list[str]:
    """The signatures of a group's runs, each once."""
    return list(dict.fromkeys(one_line(run.signature) for run in group.systems))


def to_markdown(found: Comparison) -> str:
    """One table a score and group, with what they rest on."""
    return _written(found, markdown_text, _markdown_table, "### {}", "    {}")


def to_latex(found: Comparison) -> str:
    """The same as `tabular` (package booktabs)."""
    return _written(found, latex_text, _latex_table, "% {}", "% {}")


def _written(
    found: Comparison,
    escape: Callable[[str], str],
    table: Callable[[Sequence[Sequence[str]]], list[str]],
    heading: str,
    verbatim: str,
) -> str:
    blocks: list[Sequence[str]] = []
    for key in found.keys:
        blocks.append([heading.format(title(found, key))])
        for group in found.groups:
            rows = [tuple(escape(cell) for cell in cells(line, found.factor)) for line in group.lines[key]]
            blocks += [[escape(differs(group))], table(rows), [escape(verdict(group, key))]]
    blocks += [[escape(words)] for words in notes(found)]
    blocks.append([verbatim.format(line) for group in found.groups for line in signatures(group)])
    return "\n\n".join("\n".join(block) for block in blocks if any(block)) + "\n"


def markdown_text(text: str) -> str:
    """A text that Markdown shows as it is: no mark-up, no link, no HTML.

    >>> print(markdown_text("sit_on <b>|"))
    sit\\_on \\<b\\>\\|
    """
    return re.sub(r"([\\`*_\[\]<>|~&#!]|:(?=//)|(?<=www)\.)", r"\\\1", text)


def _markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    rule = ["---" if heading == "system" else "---:" for heading in HEADINGS]
    return ["| " + " | ".join(row) + " |" for row in (HEADINGS, rule, *rows)]


def latex_text(text: str) -> str:
    """A text that LaTeX prints as it is.

    >>> print(latex_text("sit_on 5 % -3"), latex_text("a--b|c"))
    sit\\_on 5 \\% $-$3 a-{}-b\\textbar{}c
    """
    apart = LIGATURE.sub(lambda found: found[0] + APART, MINUS.sub("−", text))
    return "".join(LATEX.get(char, char) for char in apart)


def _latex_table(rows: Sequence[Sequence[str]]) -> list[str]:
    columns = "".join("l" if heading == "system" else "r" for heading in HEADINGS)
    body = [" & ".join(row) + r" \\" for row in rows]
    head = " & ".join(latex_text(heading) for heading in HEADINGS) + r" \\"
    return [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}"]


def records(found: Comparison) -> Iterator[dict[str, Any]]:
    """One flat row a score and system, in full precision and the units of the result."""
    for key in found.keys:
        for place, group in enumerate(found.groups):
            by_name = dict(zip(group.names, group.systems, strict=True))
            for line in group.lines[key]:
                against = line.against
                pair = against.found if against else None
                yield {
                    "metric": found.metric,
                    "key": key,
                    "group": place + 1,
                    "rank": line.rank,
                    "system": line.name,
                    "score": line.value,
                    "low": line.interval.low,
                    "high": line.interval.high,
                    "compared_with": against.name if against else None,
                    "difference": pair.difference if pair else None,
                    "difference_low": pair.interval.low if pair else None,
                    "difference_high": pair.interval.high if pair else None,
                    "p_value": pair.p_value if pair else None,
                    "p_adjusted": against.p_adjusted if against else None,
                    "detectable": pair.detectable if pair else None,
                    "n_units": found.n_units,
                    "differs": " · ".join(f"{name}: {there} -> {here}" for name, there, here in group.differs),
                    "folder": by_name[line.name].folder,
                    "signature": by_name[line.name].signature,
                }


def to_csv(found: Comparison) -> str:
    """The rows of `records`. What a spreadsheet would run as a formula gets an apostrophe, also after a `;`."""
    rows = list(records(found))
    file = io.StringIO()
    writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: _cell(value) for name, value in row.items()} for row in rows)
    return file.getvalue()


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return FORMULA.sub(r"\1'\2", one_line(value))


def to_json(found: Comparison) -> str:
    """The rows of `records`."""
    return json.dumps(list(records(found)), ensure_ascii=False, indent=2) + "\n"


WRITERS: Mapping[str, Callable[[Comparison], str]] = {
    "markdown": to_markdown,
    "csv": to_csv,
    "latex": to_latex,
    "json": to_json,
}
"""By name of the form."""
SUFFIXES = {".md": "markdown", ".csv": "csv", ".tex": "latex", ".json": "json"}
"""The form that a file's ending says."""
