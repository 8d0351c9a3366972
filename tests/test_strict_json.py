"""What strangers put into files: each fault is one line that names the place, never a traceback."""

import json

import pytest

from sgeval import strict_json
from sgeval.errors import SgevalError
from sgeval.strict_json import parse, read_file, read_rows

PLACE = "predictions.jsonl, line 3"


def fault(text):
    with pytest.raises(SgevalError) as caught:
        parse(text, PLACE)
    message = str(caught.value)
    assert message.startswith(f"{PLACE}: expected "), message
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{PLACE}: ")


class TestParse:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"a": 1, "a": 1}', 'expected each key once, got the key "a" twice'),
            ('{"a": {"b": 1, "c": 2, "b": 3}}', 'expected each key once, got the key "b" twice'),
            ('[{"\\n": 1, "\\n": 2}]', 'expected each key once, got the key "\\n" twice'),
            ("NaN", "expected finite numbers, got NaN"),
            ('{"score": Infinity}', "expected finite numbers, got Infinity"),
            ("[-Infinity]", "expected finite numbers, got -Infinity"),
            ("1e999", "expected finite numbers, got 1e999"),
            ("[0, -1e999]", "expected finite numbers, got -1e999"),
            ('"\\ud800"', "expected whole characters, got half of a surrogate pair"),
            ('{"\\uDFFF": 1}', "expected whole characters, got half of a surrogate pair"),
            ("", 'expected JSON, got "" (Expecting value, column 1)'),
            (
                "{'a': 1}",
                "expected JSON, got \"{'a': 1}\" (Expecting property name enclosed in double quotes, column 2)",
            ),
            ("[1, 2", "expected JSON, got \"[1, 2\" (Expecting ',' delimiter, column 6): cut short at byte 5"),
            ("nan", 'expected JSON, got "nan" (Expecting value, column 1)'),
            ("{} {}", 'expected JSON, got "{} {}" (Extra data, column 4)'),
            ('"a\x01"', 'expected JSON, got "\\"a\\u0001\\"" (Invalid control character at, column 3)'),
        ],
    )
    def test_wording(self, text, expected):
        assert fault(text) == expected

    def test_every_beginning_is_cut_short(self):
        """Each proper beginning of a document ends too early, and says at which byte; "é" has two of them."""
        text = '{"é": [1, -2.5e-3, true, false, null, "x\\n\\u00e9 \\"q\\""], "b": {"c": {}, "d": []}}'
        parse(text, PLACE)
        for end in range(1, len(text)):
            n_bytes = end + (end > 2)
            assert fault(text[:end]).endswith(f": cut short at byte {n_bytes}")

    @pytest.mark.parametrize(
        "text", ['{"a": 1]', '{"a" 1}', "[1 2]", "[tru]", "[1,]", '{"a": }', "{,}", "[1,,2]", '"\\u00"', " "]
    )
    def test_what_is_wrong_is_not_cut_short(self, text):
        assert "cut short" not in fault(text)

    @pytest.mark.parametrize("text", ["1" * 5000, "-" + "1" * 5000, '{"image_id": ' + "9" * 5000 + "}"])
    def test_number_of_thousands_of_digits(self, text):
        assert fault(text) == "expected numbers of at most 4,300 digits, got one of more"

    @pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
    @pytest.mark.parametrize("closed", [True, False])
    def test_hundred_thousand_levels(self, opening, closed):
        closing = {"[": "]", '{"a":': "}", '[{"a":': "}]"}[opening]
        text = opening * 100_000 + ("1" + closing * 100_000 if closed else "")
        assert fault(text).startswith("expected at most 16 levels of nesting")

    def test_levels(self):
        assert parse("[" * 16 + "]" * 16, PLACE)
        assert fault("[" * 18 + "]" * 18) == "expected at most 16 levels of nesting, got more"

    def test_one_level_too_many(self):
        fault("[" * 17 + "]" * 17)

    def test_a_long_infinite_number_is_shown_short(self):
        assert len(fault("1" * 5000 + ".0")) < 200

    def test_a_long_text_is_shown_short(self):
        assert len(fault('{"a": "' + "x" * 100_000)) < 200

    def test_what_is_fine(self):
        assert parse('{"a": [1, 2.5, null, true, "\\ud83d\\ude00"]}', PLACE) == {"a": [1, 2.5, None, True, "😀"]}
        assert parse('"\\\\ud800"', PLACE) == "\\ud800", "a backslash that is text is no surrogate"
        assert parse("1e308", PLACE) == 1e308


class TestFiles:
    @pytest.fixture
    def write(self, tmp_path):
        def make(content, name="rows.jsonl"):
            path = tmp_path / name
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            return path

        return make

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('{"a": 1}\n{"a": 2}\n', [{"a": 1}, {"a": 2}]),
            ('{"a": 1}\r\n\r\n  \n{"a": 2}', [{"a": 1}, {"a": 2}]),  # blank lines, no last newline
            ('[{"a": 1},\n {"a": 2}]', [{"a": 1}, {"a": 2}]),
            ('\n  [{"a": 1}]', [{"a": 1}]),
            (b'\xef\xbb\xbf{"a": 1}\n', [{"a": 1}]),  # byte order mark
            (b'\xef\xbb\xbf[{"a": 1}]', [{"a": 1}]),
            ("", []),
            ("[]", []),
            ('{"a": "\u2028"}\n', [{"a": "\u2028"}]),  # not a line end of JSON Lines
        ],
    )
    def test_rows(self, write, content, expected):
        assert list(read_rows(write(content))) == expected

    @pytest.mark.parametrize(
        ("content", "line", "expected"),
        [
            ('{"a": 1}\n{"a": 1, "a": 2}\n', 2, "expected each key once"),
            ('{"a": 1}\n\n{"a": NaN}\n', 3, "expected finite numbers, got NaN"),
            ('{"a": 1}\nnot json\n', 2, 'expected JSON, got "not json"'),
            ('{"a": 1}\n{"a": ', 2, "expected JSON, got"),  # torn last line
            (b'{"a": 1}\n{"a": "\xff"}\n', 2, "expected UTF-8 text, got bytes that are none"),
            ('{"a": 1}'.encode("utf-16"), 1, "expected UTF-8 text"),
            ('{"a": 1}\n'.encode("utf-16-le"), 1, "expected JSON"),
            (b"\x1f\x8b\x08\x00", 1, "expected UTF-8 text"),  # gzip
        ],
    )
    def test_faults_name_file_and_line(self, write, content, line, expected):
        path = write(content)
        with pytest.raises(SgevalError) as caught:
            list(read_rows(path))
        message = str(caught.value)
        assert message.startswith(f"{path}, line {line}: {expected}") and len(message.splitlines()) == 1

    def test_rows_before_the_fault_come_out(self, write):
        rows = read_rows(write('{"a": 1}\nnope\n'))
        assert next(rows) == {"a": 1}
        with pytest.raises(SgevalError, match="line 2"):
            next(rows)

    @pytest.mark.parametrize("content", ["[NaN]", '[{"a": 1, "a": 2}]', "[1,", "[" * 100_000, b'["\xff"]'])
    def test_faults_of_a_list_name_the_file(self, write, content):
        path = write(content)
        with pytest.raises(SgevalError, match="expected") as caught:
            list(read_rows(path))
        assert str(caught.value).startswith(f"{path}: expected ") and len(str(caught.value).splitlines()) == 1

    def test_line_too_long(self, write, monkeypatch):
        monkeypatch.setattr(strict_json, "MAX_LINE_BYTES", 20)
        assert list(read_rows(write('{"a": "12345678901"}\n'[:-1]))) == [{"a": "12345678901"}]  # 20 bytes
        path = write('{"a": 1}\n{"a": "1234567890123456"}\n{"a": 3}\n')
        with pytest.raises(SgevalError) as caught:
            list(read_rows(path))
        assert str(caught.value) == f"{path}, line 2: expected at most 20 bytes, got more"

    def test_file_too_large(self, write, monkeypatch):
        monkeypatch.setattr(strict_json, "MAX_FILE_BYTES", 1000)
        path = write(" " * 1001)
        for read in (read_file, lambda path: list(read_rows(path))):
            with pytest.raises(SgevalError) as caught:
                read(path)
            assert str(caught.value) == f"{path}: expected at most 1,000 bytes, got 1,001"

    @pytest.mark.parametrize("read", [read_file, lambda path: list(read_rows(path))], ids=["file", "rows"])
    def test_no_file_and_a_folder(self, read, tmp_path):
        for path, why in ((tmp_path / "none.json", "No such file or directory"), (tmp_path, "Is a directory")):
            with pytest.raises(SgevalError) as caught:
                read(path)
            assert str(caught.value) == f"{path}: cannot be read ({why})"

    def test_empty_file(self, write):
        path = write("")
        with pytest.raises(SgevalError) as caught:
            read_file(path)
        assert str(caught.value).startswith(f'{path}: expected JSON, got ""')

    def test_list_after_many_blanks(self, write):
        assert list(read_rows(write("\n" * 5000 + '[{"a": 1}]'))) == [{"a": 1}]


def test_rows_of_a_text():
    """A line ends at a line feed alone: U+2028 may stand inside a text."""
    rows = [{"a": "one\u2028line"}, {"b": 2}]
    lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    assert strict_json.parse_rows(lines, "rows", 1000) == strict_json.parse_rows(json.dumps(rows), "rows", 1000) == rows
    with pytest.raises(SgevalError, match="rows: expected at most 10 characters, got "):
        strict_json.parse_rows(lines, "rows", 10)
    with pytest.raises(SgevalError, match="rows, line 2: expected JSON"):
        strict_json.parse_rows('{"a": 1}\n{', "rows", 100)
