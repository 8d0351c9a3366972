"""JSON lists taken in blocks: nothing gets through that the careful parser refuses, and nothing comes out otherwise."""

import json
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import UNSET, Struct, UnsetType

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.readers import json_records
from sgeval.readers.image_data import Entry
from sgeval.readers.json_records import read_records, read_typed, typed_block
from sgeval.readers.visual_genome_records import Record


class Inner(Struct, forbid_unknown_fields=True):
    a: int | float | UnsetType = UNSET
    b: str | UnsetType = UNSET
    c: tuple[str, ...] | UnsetType = UNSET


class Outer(Struct, forbid_unknown_fields=True):
    a: int | float | UnsetType = UNSET
    b: str | UnsetType = UNSET
    d: list[Inner] | UnsetType = UNSET


DECODER = msgspec.json.Decoder(list[Outer])

# What an attacker may write, as the one record that follows a sound one; True where the careful parser takes it.
PIECES = {
    "a key twice": ('{"a": 1, "a": 1}', False),
    "a key twice further down": ('{"d": [{"b": "x"}, {"b": "x", "b": "y"}]}', False),
    "a key twice, made up for by a blank": ('{"a": 1, "a": 1, "b" : "x"}', False),
    "a key twice, made up for by an escaped colon": (r'{"a": 1, "a": 1, "b": "\u003a"}', False),
    "a key twice, made up for by escaped colons in capitals": (r'{"a": 1, "a": 1, "b": "\u003A\u003A"}', False),
    "a key twice, made up for by an escaped quote": (r'{"a": 1, "a": 1, "b": "\u0022:"}', False),
    "a key twice, once as an escape": (r'{"a": 1, "\u0061": 1}', False),
    "a key twice, once with colons in it": ('{"b": ":::", "b": "x"}', False),
    "an unknown key twice": ('{"z": 1, "z": 1}', False),
    "NaN": ('{"a": NaN}', False),
    "Infinity": ('{"a": -Infinity}', False),
    "a number that is too large": ('{"a": 1e999}', False),
    "a number of 5,000 digits": ('{"a": ' + "9" * 5000 + "}", False),
    "many levels": ('{"z": ' + "[" * 100_000 + "]" * 100_000 + "}", False),
    "17 levels": ('{"z": ' + "[" * 17 + "]" * 17 + "}", False),
    "half of a surrogate pair": (r'{"b": "\ud800"}', False),
    "the other half": (r'{"b": "x\udc00x"}', False),
    "a line end in a text": ('{"b": "x\ny"}', False),
    "a zero byte in a text": ('{"b": "x\0y"}', False),
    "an unknown escape": (r'{"b": "\x41"}', False),
    "a comma too many": ('{"a": 1,}', False),
    "a leading zero": ('{"a": 01}', False),
    "a point without digits": ('{"a": 1.}', False),
    "a comment": ('{"a": 1 /* one */}', False),
    "single quotes": ("{'a': 1}", False),
    "a form feed": ('{"a":\f1}', False),
    "an unknown key": ('{"z": [1, {"y": null}]}', True),
    "a value of another type": ('{"a": "1"}', True),
    "null": ('{"a": null}', True),
    "a blank before the colon": ('{"a" \n: 1}', True),
    "an escaped colon": (r'{"b": "x\u003ay"}', True),
    "an escaped key": (r'{"\u0061": 1}', True),
    "a whole surrogate pair": (r'{"b": "\ud83d\ude00"}', True),
    "colons, quotes and braces in a text": (r'{"b": "\"a\":1}, {\"a\": [:"}', True),
    "the smallest and the largest": ('{"a": -1.7976931348623157e308, "d": [{"a": 5e-324}, {"a": 9e18}]}', True),
    "beyond 64 bits, which readers refuse by place": ('{"a": 18446744073709551616}', True),
}  # fmt: skip


def plain(value: Any) -> Any:
    """A typed value as JSON has it."""
    return value if isinstance(value, dict) else json.loads(msgspec.json.encode(value))


@pytest.mark.parametrize(("piece", "is_sound"), PIECES.values(), ids=PIECES)
def test_what_is_refused_there_is_refused_here(tmp_path: Path, piece: str, is_sound: bool):
    path = tmp_path / "list.json"
    path.write_text(f'[{{"a": 1}}, {piece}, {{"a": 2}}, {{"a": 3}}]')
    if is_sound:
        values = [plain(value) for value in read_typed(path, Outer)]
        assert values == [value for _, value in read_records(path)] and len(values) == 4
        return
    assert typed_block(f"[{piece}]", DECODER) is None
    with pytest.raises(SgevalError) as expected:
        list(read_records(path))
    with pytest.raises(SgevalError) as caught:
        list(read_typed(path, Outer))
    assert str(caught.value) == str(expected.value) and "record 1" in str(caught.value)


def test_bytes_that_are_no_text(tmp_path: Path):
    path = tmp_path / "list.json"
    for raw in (b"\xff", b"\xed\xa0\x80", b"\xc0\xaf", b"\xf5\x80\x80\x80"):
        path.write_bytes(b'[{"a": 1}, {"b": "' + raw + b'"}, {"a": 2}]')
        with pytest.raises(SgevalError, match="expected UTF-8 text, got bytes that are none"):
            list(read_typed(path, Outer))


TEXTS = st.text(alphabet=':"\\ab ,{}[]\u00e9\U0001f600', max_size=6)


@st.composite
def written(draw: Any, depth: int = 0) -> str:
    """An object as anyone may write it: keys once or twice, blanks anywhere, escapes for no reason."""
    pairs = []
    for _ in range(draw(st.integers(0, 4))):
        key = draw(st.sampled_from("aabbcdz"))
        value: str
        if key == "d" and depth == 0:
            value = "[" + ", ".join(draw(st.lists(written(depth=1), max_size=3))) + "]"
        elif key == "c":
            value = json.dumps(draw(st.lists(TEXTS, max_size=2)))
        elif key == "b":
            value = json.dumps(draw(TEXTS), ensure_ascii=draw(st.booleans()))
        else:
            value = json.dumps(draw(st.integers(-9, 9) | st.floats(allow_nan=False) | TEXTS | st.none()))
        for mark, escape in ((":", r"\u003a"), ('\\"', r"\u0022")):
            if key in "bc" and draw(st.integers(0, 5)) == 0:
                value = value.replace(mark, escape)
        pairs.append(f'"{key}"{draw(st.sampled_from(["", "", " "]))}:{value}')
    return "{" + ",".join(pairs) + "}"


@settings(max_examples=400, deadline=None)
@given(st.lists(written(), min_size=1, max_size=3))
def test_a_block_is_what_the_careful_parser_reads_or_none(pieces: list[str]):
    text = "[" + ",".join(pieces) + "]"
    values = typed_block(text, DECODER)
    if values is not None:
        assert [plain(value) for value in values] == strict_json.parse(text, "text")


def test_blocks_are_taken_and_their_size_plays_no_part(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    draw = Random(0)
    rows: list[Any] = [
        {"a": n, "b": ":" * draw.randrange(9) + '"} , {"a"' * draw.randrange(2), "d": [{"a": 0.5, "c": ["é", "😀"]}]}
        for n in range(200)
    ]
    rows[50]["z"] = rows[51]["a"] = None
    path = tmp_path / "list.json"
    for indent in (None, 1):
        path.write_text("\ufeff \n" + json.dumps(rows, ensure_ascii=False, indent=indent) + "\n")
        for block in (1, 7, 300, 5000, 10**6):
            monkeypatch.setattr(json_records, "BLOCK", block)
            values = list(read_typed(path, Outer))
            assert [plain(value) for value in values] == rows
            n_typed = sum(isinstance(value, Outer) for value in values)
            assert n_typed >= ({300: 150, 5000: 40}.get(block, 0) if indent is None else 0)


def test_a_wrong_guess_of_where_records_begin(tmp_path: Path):
    """Inner objects that begin as the records do, and whole lists in a text."""
    rows = [{"d": [{"a": 1}, {"a": 2}], "a": 3}, {"a": 4, "b": '}, {"d": '}, {"d": [{"b": "}, {"}]}] * 5
    for start in range(3):
        path = tmp_path / "list.json"
        path.write_text(json.dumps(rows[start:]))
        assert [plain(value) for value in read_typed(path, Outer)] == rows[start:]


@pytest.mark.parametrize("kind", [Record, Entry])
def test_faults_of_a_list_are_those_of_read_records(tmp_path: Path, kind: Any):
    path = tmp_path / "list.json"
    sound = '{"image_id": 1}, {"image_id": 2}'
    for text in ("", "{}", f"[{sound}", f"[{sound},]", f"[{sound}] x", f"[{sound} {sound}]", f"[{sound}, 7]", "[[]]"):
        path.write_text(text)
        with pytest.raises(SgevalError) as expected:
            list(read_records(path))
        with pytest.raises(SgevalError) as caught:
            list(read_typed(path, kind))
        assert str(caught.value) == str(expected.value)


def test_memory_holds_a_block_and_not_the_file(tmp_path: Path):
    import tracemalloc

    path = tmp_path / "list.json"
    path.write_text(json.dumps([{"b": "x" * 1000, "a": n} for n in range(30_000)]))  # 31 MB
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_typed(path, Outer)) == 30_000
        assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
    finally:
        tracemalloc.stop()
