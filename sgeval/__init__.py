"""sgeval: evaluate scene graphs.

`sgeval.relclipscore(...)` scores predicted relations on pictures, `sgeval.theta(...)` the model that scores them.
`sgeval.path(name)` gives what `evaluate.load` takes.
"""

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from sgeval.alignment import theta
    from sgeval.hub import load, path
    from sgeval.relclip import relclipscore

__all__ = ["__version__", "load", "path", "relclipscore", "theta"]

_HOMES = {
    "load": "sgeval.hub",
    "path": "sgeval.hub",
    "relclipscore": "sgeval.relclip",
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
