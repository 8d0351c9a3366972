"""Reports: one page about a run, one page that ranks several. Each is a single HTML file that needs nothing else."""

from pathlib import Path

from sgeval import alignment
from sgeval.report.ranking import render_ranking
from sgeval.report.single import render_single
from sgeval.report.theta import render_theta
from sgeval.runs import Run

__all__ = ["render_ranking", "render_report"]


def render_report(run: Run, out: Path, images: Path | None = None) -> Path:
    """Write the report of a run as one HTML file that needs nothing else, and return its path.

    `images`: the folder of the pictures, where it is no longer the one the run was made from. A picture that cannot be
    found or read is replaced by a line that says so. Raises `SgevalError` when `out` is there and is no earlier page, or
    `images` no folder, and `OSError` when `out` cannot be written.
    """
    render = render_theta if run.metric == alignment.KEY else render_single
    return render(run, out, images)
