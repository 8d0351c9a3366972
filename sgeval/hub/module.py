"""What the `evaluate` modules share: the checks that the host leaves out, and a clean start after an error."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar

import evaluate

from sgeval import alignment, relclip, situation, temporal
from sgeval.errors import SgevalError, one_of
from sgeval.pictures import is_list

_RUNNING = ("images", "model", "device", "precision", "preprocess", "cache", "limit", "return_items")
OPTIONS: Mapping[str, frozenset[str]] = {
    "relclipscore": frozenset((*_RUNNING, *(item.name for item in fields(relclip.Options)))),
    "theta": frozenset(
        (*_RUNNING, "vocabulary", "vocabulary_graphs", *(item.name for item in fields(alignment.Options)))
    ),
    "ssg_role_values": frozenset(("limit", "return_items", *(item.name for item in fields(situation.Options)))),
    "svg2_temporal_accuracy": frozenset(
        ("judge", "limit", "return_items", *(item.name for item in fields(temporal.Options)))
    ),
}
"""What `compute` of each module takes."""


class Module(evaluate.Metric):  # type: ignore[misc]
    """An `evaluate` module of sgeval. A module adds its schema, `add_batch` and `_compute`."""

    metric: ClassVar[str]
    configs: ClassVar[Sequence[str]]
    """The first is the default."""
    nothing: ClassVar[str]
    """The fault of a computation over nothing."""

    def __init__(self, config_name: str | None = None, **kwargs: Any) -> None:
        """Check what the host accepts in silence: the config's name and the keywords of `load`."""
        known = set(evaluate.Metric.__init__.__annotations__)
        for name in kwargs:
            if name not in known:
                raise SgevalError(
                    f"load: expected one of {', '.join(sorted(known - {'config_name'}))}, got {name!r}; "
                    "options of the metric go to compute()"
                )
        config_name = self.configs[0] if config_name in (None, "default") else config_name
        one_of("config", config_name, self.configs)
        if kwargs.get("num_process", 1) == 1:
            kwargs.setdefault("keep_in_memory", True)
        super().__init__(config_name, **kwargs)

    def add(self, *, prediction: Any = None, reference: Any = None, on_invalid: str = "error") -> None:
        """Add one row: a prediction, its reference, or both. Faults are raised here, with their place."""
        self.add_batch(
            predictions=[] if prediction is None else [prediction],
            references=None if reference is None else [reference],
            on_invalid=on_invalid,
        )

    def compute(self, *, predictions: Any = None, references: Any = None, **options: Any) -> dict[str, Any] | None:
        """Compute over what was added and what is given here. Options are keywords; an unknown one is an error."""
        options = self._own(options)
        if self.num_process > 1 and is_list(options.get("images")):
            raise SgevalError(
                "images: expected a folder or a mapping from image_id with several processes, got a list: it stands beside "
                "the rows of one process only"
            )
        if self.num_process > 1 and options.get("limit") is not None:
            raise SgevalError(
                "limit: expected none with several processes, got one: which rows are the first hangs on how they were "
                "dealt out"
            )
        if predictions is not None or references is not None:
            self.add_batch(
                predictions=predictions, references=references, on_invalid=options.get("on_invalid", "error")
            )
        if self.writer is None and self.num_process == 1:  # type: ignore[has-type]
            raise SgevalError(self.nothing)
        try:
            result: dict[str, Any] | None = super().compute(**options)
            return result
        finally:
            if self.keep_in_memory:  # after an error the host would keep the rows for the next call
                self.writer = self.buf_writer = self.data = None

    def _own(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """The options of this module. One of another module of ours is passed over, with a warning: `evaluate.combine`
        hands every option to every module. One that nobody knows is an error."""
        own = OPTIONS[self.metric]
        others = frozenset[str]().union(*OPTIONS.values()) - own
        passed_over = sorted(others & options.keys())
        for name in options.keys() - others:
            one_of("option", name, sorted(own))
        if passed_over:
            warnings.warn(f"{self.metric}: passes over {', '.join(passed_over)}, of another metric", stacklevel=3)
        return {name: value for name, value in options.items() if name in own}
