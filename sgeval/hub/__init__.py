"""The edge to `evaluate`: where the metric folders are, and how to load them. Imported on use."""

from pathlib import Path
from typing import Any

from sgeval.errors import SgevalError, one_of

METRICS = ("relclipscore", "theta", "ssg_role_values", "svg2_temporal_accuracy")


def path(name: str) -> str:
    """The folder of a metric, as `evaluate.load` takes it; no network, no Hub.

    >>> Path(path("relclipscore")).name
    'relclipscore'
    """
    one_of("metric", name, METRICS)
    here = Path(__file__).resolve().parent.parent
    for shelf in (here / "metrics", here.parent / "metrics"):  # in a wheel, in a checkout
        if (shelf / name / f"{name}.py").is_file():
            return str(shelf / name)
    raise SgevalError(f"metric {name}: its folder is not installed; install sgeval again")


def load(name: str, config_name: str | None = None, **keywords: Any) -> Any:
    """`evaluate.load(sgeval.path(name), config_name, …)`: the metric as an `evaluate` module."""
    import evaluate

    return evaluate.load(path(name), config_name, **keywords)
