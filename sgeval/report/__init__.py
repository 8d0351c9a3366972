"""Reports: one page about a run, one page that ranks several. Each is a single HTML file that needs nothing else."""

from sgeval.report.ranking import render_ranking
from sgeval.report.single import render_report

__all__ = ["render_ranking", "render_report"]
