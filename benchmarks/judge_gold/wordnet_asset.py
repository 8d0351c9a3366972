"""Make `sgeval/assets/wordnet/wordnet.txt.gz` from the dictionary files of WordNet 3.0.

    python -m benchmarks.judge_gold.wordnet_asset DICT [--out FILE]

DICT is the folder with `data.noun`, `index.noun`, `noun.exc`, `cntlist.rev` and so on, such as `/usr/share/wordnet` of
Debian's package wordnet-base (1:3.0-37). What judges have no use for is left out: glosses, adverbs, verb frames, and all
pointers but the six of `POINTERS`. The output is the same byte for byte wherever it is made; its form is described in
`sgeval.judges.dictionary`, which reads it.
"""

import argparse
import gzip
import io
from collections import defaultdict
from pathlib import Path

PARTS = {"n": "noun", "v": "verb", "a": "adj"}
POINTERS = {
    "@": "@",  # hypernym
    "@i": "@",  # the class of an instance
    "#m": "#",  # the whole that this is a member, a part or the substance of
    "#p": "#",
    "#s": "#",
    "&": "&",  # similar to: head and satellite of adjectives
    "$": "$",  # group of verb senses
    "*": "*",  # entailment
    "!": "!",  # antonym, taken from the words to their synsets
}
OUT = Path("sgeval/assets/wordnet/wordnet.txt.gz")


def asset_text(folder: Path) -> str:
    """The asset, unpacked."""
    numbers: dict[tuple[str, str], int] = {}  # part of speech and offset of a synset to its line
    rows: list[tuple[str, str, list[tuple[str, str, str]]]] = []
    for part, name in PARTS.items():
        for line in _lines(folder / f"data.{name}"):
            fields = line.partition(" | ")[0].split()
            numbers[part, fields[0]] = len(rows)
            first = 4 + 2 * int(fields[3], 16)
            pointers = fields[first + 1 : first + 1 + 4 * int(fields[first])]
            rows.append((part, fields[1], list(zip(pointers[0::4], pointers[1::4], pointers[2::4]))))
    synsets = []
    for part, file, links in rows:
        targets: dict[str, set[int]] = defaultdict(set)
        for symbol, offset, of in links:
            if symbol in POINTERS and of != "r":
                targets[POINTERS[symbol]].add(numbers["a" if of == "s" else of, offset])
        ends = (symbol + ",".join(map(str, sorted(targets[symbol]))) for symbol in sorted(targets))
        synsets.append(" ".join([part + file, *ends]))
    return "\n".join(["\n".join(synsets), "", *_words(folder, numbers), "", *_exceptions(folder), ""])


def _words(folder: Path, numbers: dict[tuple[str, str], int]) -> list[str]:
    """A line a word: its senses by part of speech, the most frequent first, each with its count in tagged texts."""
    counts = _counts(folder)
    senses: dict[str, list[str]] = defaultdict(list)
    for part, name in PARTS.items():
        for line in _lines(folder / f"index.{name}"):
            fields = line.split()
            offsets = fields[6 + int(fields[3]) :]
            found = []
            for order, offset in enumerate(offsets, 1):
                count = counts.get((fields[0], part, order), 0)
                found.append(f"{numbers[part, offset]}:{count}" if count else str(numbers[part, offset]))
            senses[fields[0].replace("_", " ")].append(part + ",".join(found))
    return ["\t".join([word, *senses[word]]) for word in sorted(senses)]


def _counts(folder: Path) -> dict[tuple[str, str, int], int]:
    counts = {}
    for line in _lines(folder / "cntlist.rev"):
        key, order, count = line.split()
        word, _, rest = key.partition("%")
        part = {"1": "n", "2": "v", "3": "a", "5": "a"}.get(rest[0])
        if part:
            counts[word, part, int(order)] = int(count)
    return counts


def _exceptions(folder: Path) -> list[str]:
    found = []
    for part, name in PARTS.items():
        for line in _lines(folder / f"{name}.exc"):
            form, *bases = line.split()
            found.append("\t".join([part + form.replace("_", " "), *(base.replace("_", " ") for base in bases)]))
    return sorted(set(found))


def _lines(path: Path) -> list[str]:
    """The lines of a dictionary file, without the licence at its head."""
    return [line for line in path.read_text(encoding="ascii").splitlines() if line and not line.startswith("  ")]


def write_packed(text: str, out: Path) -> None:
    """The text as a gzip file that holds neither name nor time."""
    held = io.BytesIO()
    with gzip.GzipFile("", "wb", compresslevel=9, fileobj=held, mtime=0) as packed:
        packed.write(text.encode("utf-8"))
    out.write_bytes(held.getvalue())


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser(description="Make the WordNet asset from the dictionary files of WordNet 3.0.")
    parser.add_argument("folder", type=Path, help="folder of data.noun, index.noun, noun.exc, cntlist.rev, ...")
    parser.add_argument("--out", type=Path, default=OUT)
    given = parser.parse_args()
    write_packed(asset_text(given.folder), given.out)
    print(f"{given.out}: {given.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
