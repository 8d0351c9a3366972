"""Reports: one page about a run, one page that ranks several. Each is a single HTML file that needs nothing else."""

from pathlib import Path

from sgeval import alignment, situation
from sgeval.report.ranking import render_ranking
from sgeval.report.role_values import render_role_values
from sgeval.report.single import render_single
from sgeval.report.temporal import render_temporal
from sgeval.report.theta import render_theta
from sgeval.runs import Run
from sgeval.temporal import KEY as TEMPORAL

PAGES = {alignment.KEY: render_theta, situation.KEY: render_role_values, TEMPORAL: render_temporal}
"""The page of a metric, where it is not that of RelCLIPScore."""

__all__ = ["render_ranking", "render_report"]


def render_report(run: Run, out: Path, images: Path | None = None) -> Path:
    """Write the report of a run as one HTML file that needs nothing else, and return its path.

    `images`: the folder of the pictures, where it is no longer the one the run was made from. A picture that cannot be
    found or read is replaced by a line that says so. Raises `SgevalError` when `out` is there and is no earlier page, or
    `images` no folder, and `OSError` when `out` cannot be written.
    """
    render = PAGES.get(run.metric, render_single)
    return render(run, out, images)
