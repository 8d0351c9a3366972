"""An encoder whose work is counted."""

import time
from collections.abc import Sequence
from typing import Any


class Counting:
    """An encoder that also keeps what its towers are given, and how long they take."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self.images = 0
        self.texts: list[str] = []
        self.seconds = 0.0
        """CPU seconds of the calling thread in the two towers, tokens and pixels of a batch included."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_images(self, prepared: Sequence[Any]) -> Any:
        """Features of crops."""
        self.images += len(prepared)
        return self._timed(self._encoder.encode_images, prepared)

    def encode_texts(self, texts: Sequence[str]) -> Any:
        """Features of texts."""
        self.texts += texts
        return self._timed(self._encoder.encode_texts, texts)

    def _timed(self, encode: Any, given: Sequence[Any]) -> Any:
        start = time.thread_time()
        try:
            return encode(given)
        finally:
            self.seconds += time.thread_time() - start
