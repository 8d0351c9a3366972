"""Long JSON lists, record by record. What is expected is written by hand."""

import json
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from sgeval.errors import SgevalError
from sgeval.readers import json_records

TOO_SHORT = (
    "expected JSON of at most 67,108,864 characters, got "
    '"{\\"a\\": \\"b" (Unterminated string starting at, character 6) and the end of the file at byte 9: it is cut short'
)


class TestLists:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"a": 1}', 'expected a list of records, got "{\\"a\\": 1}"'),
            ("", 'expected a list of records, got ""'),
            ("[{}", 'after record 0: expected "," or "]", got the end of the file at byte 3: it is cut short'),
            ("[{} {}]", 'after record 0: expected "," or "]", got "{"'),
            ("[{}] x", 'expected the end of the file after the list, got "x"'),
            ("[1]", 'record 0: expected an object, got "1"'),
            ("[{},]", 'record 1: expected an object, got "]"'),
            ('[{"a": NaN}]', "record 0: expected finite numbers, got NaN"),
            ('[{"a": 1, "a": 2}]', 'record 0: expected each key once, got the key "a" twice'),
            ('[{"a": "b', f"record 0: {TOO_SHORT}"),
            ('[{"a": ' + "[" * 20 + "]" * 20 + "}]", "record 0: expected at most 16 levels of nesting, got more"),
            ('[{"a": ' + "[" * 100_000, "record 0: expected at most 16 levels of nesting, got many more"),
        ],
    )  # fmt: skip
    def test_faults_of_a_list(self, tmp_path: Path, text: str, expected: str):
        path = tmp_path / "list.json"
        path.write_text(text)
        with pytest.raises(SgevalError) as caught:
            list(json_records.read_records(path))
        assert str(caught.value) == f"{path}: {expected}"

    def test_long_numbers_and_other_encodings(self, tmp_path: Path):
        path = tmp_path / "list.json"
        for content_, expected in (
            (b'[{"a": ' + b"9" * 5000 + b"}]", "expected numbers of at most 4,300 digits, got one of more"),
            (b'[{"a": "\xff"}]', "expected UTF-8 text, got bytes that are none"),
        ):
            path.write_bytes(content_)
            with pytest.raises(SgevalError, match=expected):
                list(json_records.read_records(path))

    def test_records_across_blocks(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Whatever the size of the blocks, the same records come out, and a byte order mark is no part of them."""
        path = tmp_path / "list.json"
        whole = [{"text": "é" * n, "n": [n, {"m": -1.5e3}]} for n in range(9)]
        path.write_text("\ufeff \n" + json.dumps(whole, ensure_ascii=False, indent=1) + "\n")
        for block in (1, 2, 3, 7, 50, 10_000):
            monkeypatch.setattr(json_records, "BLOCK", block)
            assert [value for _, value in json_records.read_records(path)] == whole

    def test_a_record_has_a_largest_size(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(json_records, "MAX_RECORD", 100)
        monkeypatch.setattr(json_records, "BLOCK", 10)
        path = tmp_path / "list.json"
        path.write_text('[{"a": "' + "x" * 1000 + '"}]')
        with pytest.raises(SgevalError, match="record 0: expected JSON of at most 100 characters"):
            list(json_records.read_records(path))

    def test_memory_holds_a_record_and_not_the_file(self, tmp_path: Path):
        path = tmp_path / "list.json"
        path.write_text(json.dumps([{"text": "x" * 10_000, "n": n} for n in range(3000)]))  # 30 MB
        tracemalloc.start()
        try:
            assert sum(1 for _ in json_records.read_records(path)) == 3000
            assert tracemalloc.get_traced_memory()[1] < 10 * 2**20
        finally:
            tracemalloc.stop()


class TestArchives:
    def archive(self, path: Path, **members: str) -> Path:
        with zipfile.ZipFile(path / "objects.json.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in members.items():
                archive.writestr(name, text)
        return path / "objects.json.zip"

    def test_the_neighbours_of_a_mac_are_passed_over(self, tmp_path: Path):
        path = self.archive(
            tmp_path, **{"__MACOSX/._objects.json": "x", "data/objects.json": '[{"a": 1}]', "read.me": "x"}
        )
        assert [value for _, value in json_records.read_records(path)] == [{"a": 1}]

    @pytest.mark.parametrize("members", [{}, {"a.json": "[]", "b.json": "[]"}])
    def test_one_json_file(self, tmp_path: Path, members: dict[str, str]):
        path = self.archive(tmp_path, **members)
        with pytest.raises(SgevalError) as caught:
            list(json_records.read_records(path))
        assert str(caught.value) == f"{path}: expected one JSON file in the archive, got {len(members)}"

    def test_nothing_is_written(self, tmp_path: Path):
        """A name that leads out of the folder is read like any other, for nothing is unpacked."""
        inner = tmp_path / "inner"
        inner.mkdir()
        path = self.archive(inner, **{"../outside.json": "[]"})
        assert list(json_records.read_records(path)) == []
        assert sorted(entry.name for entry in tmp_path.rglob("*")) == ["inner", "objects.json.zip"]

    def test_an_archive_that_unpacks_without_end(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        monkeypatch.setattr(json_records.strict_json, "MAX_FILE_BYTES", 5_000_000)
        monkeypatch.setattr(json_records, "RATIO", 10_000)
        path = self.archive(tmp_path, **{"objects.json": "[" + " " * 50_000_000 + "]"})
        assert path.stat().st_size < 100_000
        with pytest.raises(SgevalError, match="expected at most 5,000,000 characters, got more"):
            list(json_records.read_records(path))

    def test_an_archive_that_unpacks_to_far_more(self, tmp_path: Path):
        path = self.archive(tmp_path, **{"objects.json": '[{"a": "' + "a" * 5_000_000 + '"}]'})
        expected = r'expected "objects\.json" to unpack to at most 200 times its size, got [\d,]+ bytes for 5,000,011'
        with pytest.raises(SgevalError, match=expected):
            list(json_records.read_records(path))
        small = self.archive(tmp_path, **{"objects.json": '[{"a": "' + "a" * 1_000_000 + '"}]'})
        assert len(list(json_records.read_records(small))) == 1

    @pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
    def test_damaged(self, tmp_path: Path, share: float):
        text = json.dumps([{"n": [n * n % 977 for n in range(3000)]}])
        path = self.archive(tmp_path, **{"objects.json": text})
        whole = path.read_bytes()
        path.write_bytes(whole[: int(share * len(whole))])
        with pytest.raises(SgevalError, match="expected a sound zip archive, got a damaged one"):
            list(json_records.read_records(path))

    def test_a_flipped_byte(self, tmp_path: Path):
        path = self.archive(tmp_path, **{"objects.json": json.dumps([{"n": [n * n % 977 for n in range(3000)]}])})
        whole = bytearray(path.read_bytes())
        whole[len(whole) // 2] ^= 0xFF
        path.write_bytes(whole)
        with pytest.raises(SgevalError):
            list(json_records.read_records(path))

    def test_other_methods_of_packing(self, tmp_path: Path):
        path = tmp_path / "objects.json.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("objects.json", "[]")
        with pytest.raises(SgevalError, match="stored or deflated and without a password"):
            list(json_records.read_records(path))
