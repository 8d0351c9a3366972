"""Image-text matching: BLIP-2's Q-Former reads a crop and a text together and says whether they match."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from sgeval.encoders.device import DTYPES, memory_guard
from sgeval.encoders.dual import Facts, Features, Floats, Loaded
from sgeval.encoders.pixels import Pixels

MATCH = 1
"""The head's class for "the text fits the picture": LAVIS `Blip2ITM` and `Blip2ForImageTextRetrieval` alike."""
ROWS = 128
"""Pairs scored at once; what they need does not grow with the call."""

Ids = npt.NDArray[np.int64]


class Tokens(Protocol):
    """The tokenizer of the model."""

    pad_id: int

    def ids(self, texts: Sequence[str]) -> Ids:
        """`(N, L)` padded to the full length; a text over the limit keeps its end token."""

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are over the limit."""


class ItmEncoder(Loaded):
    """BLIP-2's vision tower, run once a crop, and its Q-Former, run once a pair.

    Features of a crop are the tower's states: float32 arrays, or tensors that stay on the GPU. Features of a text are
    its token ids. A row with states or logits that are not finite gives a score that is NaN: the caller counts it.
    """

    def __init__(self, model: Any, tokens: Tokens, pixels: Pixels, facts: Facts) -> None:
        super().__init__(pixels, facts)
        self.model = model
        self.tokens = tokens

    def encode_images(self, prepared: Sequence[torch.Tensor]) -> "Features | torch.Tensor":
        """`(N, P, D)` states of prepared crops, P the number of patches and one more. Rows are taken by index."""
        with torch.inference_mode(), memory_guard():
            pixels = self.pixels.batch(prepared, self.device, DTYPES[self.facts.precision])
            states: torch.Tensor = self.model.vision_model(pixel_values=pixels).last_hidden_state
            if self.device.startswith("cuda"):
                return states
            return np.asarray(states.float().cpu().numpy(), dtype=np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Ids:
        """`(N, L)` token ids of texts, padded to the full length."""
        return self.tokens.ids(list(texts))

    def truncated(self, texts: Sequence[str]) -> npt.NDArray[np.bool_]:
        """Which texts are longer than the model reads."""
        return self.tokens.truncated(list(texts))

    def score(self, images: "Features | torch.Tensor", texts: Ids) -> Floats:
        """Row by row: the probability that crop and text match, `softmax(logits)[1]`, in [0, 1]."""
        parts = [np.zeros(0)]
        with torch.inference_mode(), memory_guard():
            for start in range(0, len(texts), ROWS):
                rows = slice(start, start + ROWS)
                parts.append(self._match(images[rows], np.asarray(texts[rows])))
        return np.concatenate(parts)

    def _match(self, images: "Features | torch.Tensor", ids: Ids) -> Floats:
        # torch.tensor copies: the rows may be of an array that is read-only.
        states = images if isinstance(images, torch.Tensor) else torch.tensor(images)
        states = states.to(device=self.device, dtype=DTYPES[self.facts.precision])
        logits = self._logits(states, ids)
        scores = logits.softmax(dim=1)[:, MATCH]
        finite = torch.isfinite(logits).all(dim=1) & torch.isfinite(states).flatten(1).all(dim=1)
        return np.asarray(scores.masked_fill(~finite, torch.nan).cpu().numpy(), dtype=np.float64)

    def _logits(self, states: torch.Tensor, ids: Ids) -> torch.Tensor:
        """`(N, 2)`, as `Blip2ForImageTextRetrieval.forward` with the matching head, from states it has computed."""
        places = np.arange(1, ids.shape[1] + 1)
        lengths = np.where(ids != self.tokens.pad_id, places, 0).max(axis=1)
        longest = int(lengths.max())
        queries = self.model.query_tokens.expand(len(ids), -1, -1)
        count = queries.shape[1]
        is_text = torch.from_numpy(places[:longest] <= lengths[:, None]).to(self.device)
        output = self.model.qformer(
            query_embeds=self.model.embeddings(
                input_ids=torch.from_numpy(ids[:, :longest]).to(self.device), query_embeds=queries
            ),
            query_length=count,
            attention_mask=torch.cat([is_text.new_ones(len(ids), count), is_text], dim=1).long(),
            encoder_hidden_states=states,
        )
        logits: torch.Tensor = self.model.itm_head(output.last_hidden_state[:, :count]).float().mean(dim=1)
        return logits
