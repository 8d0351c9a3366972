"""The demo's own byte-pair table: every word of the vocabulary is one token, other words are spelt in letters."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

from open_clip.tokenizer import bytes_to_unicode
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

from .vocabulary import CATEGORIES, PREDICATES

CONTEXT = 12
HEADER = "#version: sgeval demo"  # open_clip skips the first line
START, END = "<start_of_text>", "<end_of_text>"
# How open_clip cuts a text into words; the two tokenizers must agree.
WORD = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"


def words() -> list[str]:
    """Return the distinct words of the vocabulary in a fixed order."""
    return sorted({word for phrase in (*CATEGORIES, *PREDICATES) for word in phrase.split()})


def split(word: str, ranks: list[tuple[str, str]]) -> list[str]:
    """Return the parts of a word after the merges, applied in their order; `</w>` ends a word."""
    parts = [*word[:-1], word[-1] + "</w>"]
    for left, right in ranks:
        position = 0
        while position < len(parts) - 1:
            if (parts[position], parts[position + 1]) == (left, right):
                parts[position : position + 2] = [left + right]
            position += 1
    return parts


def merges() -> list[tuple[str, str]]:
    """Return merges that make each word one token.

    A word is split by the merges found so far, then its parts are joined from the left. Later merges
    never undo an earlier word, because earlier merges go first.

    >>> all(len(split(word, merges())) == 1 for word in words())
    True
    """
    found: list[tuple[str, str]] = []
    for word in words():
        parts = split(word, found)
        while len(parts) > 1:
            found.append((parts[0], parts[1]))
            parts[:2] = [parts[0] + parts[1]]
    return found


def vocabulary() -> dict[str, int]:
    """Return the token ids in open_clip's order: bytes, bytes that end a word, merges, start and end of text."""
    letters = list(bytes_to_unicode().values())
    names = [*letters, *(letter + "</w>" for letter in letters), *("".join(merge) for merge in merges()), START, END]
    return {name: position for position, name in enumerate(names)}


def write_bpe(path: Path) -> None:
    """Write the table in open_clip's format, with no newline at the end (it would count as a merge)."""
    lines = [HEADER, *(" ".join(merge) for merge in merges())]
    path.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


def write_fast_tokenizer(folder: Path) -> None:
    """Write the same table for transformers, which is what `open_clip.get_tokenizer` opens in a local folder."""
    ids = vocabulary()
    tokenizer = Tokenizer(models.BPE(vocab=ids, merges=merges(), end_of_word_suffix="</w>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(WORD), behavior="removed", invert=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{START} $A {END}", special_tokens=[(START, ids[START]), (END, ids[END])]
    )
    tokenizer.add_special_tokens([START, END])
    tokenizer.save(str(folder / "tokenizer.json"))
    # The text encoder is causal and reads the vector at the end token, so what pads after it has no effect.
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": START,
        "eos_token": END,
        "pad_token": START,
        "model_max_length": CONTEXT,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
