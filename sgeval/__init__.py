"""sgeval: evaluate scene graphs.

`sgeval.relclipscore(...)` scores predicted relations on pictures, `sgeval.theta(...)` the model that scores them,
`sgeval.ssg_role_values(...)` the role values of situational graphs.
`sgeval.path(name)` gives what `evaluate.load` takes. `sgeval.load_dataset(name, data_dir=…)` reads a data set of the papers.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sgeval.alignment import theta
    from sgeval.hub import load, path
    from sgeval.hub.data import load_dataset, register
    from sgeval.relclip import relclipscore
    from sgeval.situation import ssg_role_values
    from sgeval.temporal import svg2_temporal_accuracy

__all__ = [
    "__version__",
    "load",
    "load_dataset",
    "path",
    "register",
    "relclipscore",
    "ssg_role_values",
    "svg2_temporal_accuracy",
    "theta",
]

_HOMES = {
    "load": "sgeval.hub",
    "load_dataset": "sgeval.hub.data",
    "path": "sgeval.hub",
    "register": "sgeval.hub.data",
    "relclipscore": "sgeval.relclip",
    "ssg_role_values": "sgeval.situation",
    "svg2_temporal_accuracy": "sgeval.temporal",
    "theta": "sgeval.alignment",
}


def __getattr__(name: str) -> Any:
    """Import on use, so that `import sgeval` loads none of the heavy packages."""
    if name not in _HOMES:
        raise AttributeError(f"module 'sgeval' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
