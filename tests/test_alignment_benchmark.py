"""The benchmark of Table 1: which options a protocol is, where it looks, what it prints, and how it ends."""

from pathlib import Path

import pytest

from benchmarks.alignment.run import Cell, main, settings, table
from benchmarks.protocol_audit.published import TABLE_1
from sgeval import strict_json
from sgeval.errors import ModelUnavailable
from sgeval.runs import read_run

DATA = Path(__file__).parent / "data"


class TestProtocols:
    def test_the_paper_is_the_default(self):
        assert settings("clip-l14", "paper") == {}

    def test_the_script_numbers_the_names_and_softmaxes_cosines(self):
        """protocols: "person_1 riding horse_2"; the softmax is of models that score with a cosine."""
        found = settings("clip-l14", "openvocsgg")
        assert (
            found["template"].format(subject="person", predicate="riding", object="horse") == "person_1 riding horse_2"
        )
        assert (found["score"], found["context"], found["protocol"]) == ("softmax100", "openvocsgg", "openvocsgg")
        blip = settings("blip2-itm-g", "openvocsgg")
        assert blip["template"].startswith("a photo of a {subject}_1") and "score" not in blip
        assert "score" not in settings("siglip-so400m", "openvocsgg")


class TestTable:
    def test_printed_numbers_stand_beside_ours(self):
        """Table 1, PSG, CLIP L-14: 23.64, 27.77, 63.14."""
        row = next(one for one in TABLE_1 if (one.data, one.model) == ("PSG", "CLIP L-14"))
        text = table([Cell("psg-train", "clip-l14", "paper", theta="70.00", relations=1234, printed=row)])
        assert text.splitlines()[-1].endswith("| 1,234 | 63.14 | 27.77 | 23.64 |")

    def test_what_was_not_run_is_said_once(self):
        cells = [Cell("psg-train", "clip-l14", name, why_not="no weights") for name in ("paper", "openvocsgg")]
        text = table(cells)
        assert text.count("not run") == 2 and text.count("Not run: no weights") == 1
        assert len({line.count("|") for line in text.splitlines() if line.startswith("|")}) == 1


class TestRuns:
    def test_psg_by_the_demo_model(self, tmp_path, capsys):
        arguments = ["--psg", str(DATA / "psg"), "--models", "demo", "--out", str(tmp_path)]
        assert main(arguments) == 0
        lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("| psg-train")]
        assert [line.split(" | ")[2] for line in lines] == ["paper", "openvocsgg"]
        paper, script = (read_run(tmp_path / "psg-train" / "demo" / name) for name in ("paper", "openvocsgg"))
        assert (paper.options.protocol, script.options.protocol) == ("paper", "openvocsgg")
        ids = [row["image_id"] for row in strict_json.read_rows(tmp_path / "psg-train.jsonl")]
        assert ids == sorted(ids, key=int)
        assert "limit:10000" in paper.result["signature"]
        before = (tmp_path / "psg-train" / "demo" / "paper" / "results.json").stat().st_mtime_ns
        assert main(arguments) == 0
        assert (tmp_path / "psg-train" / "demo" / "paper" / "results.json").stat().st_mtime_ns == before

    def test_a_model_that_cannot_be_had(self, tmp_path, capsys, monkeypatch):
        from sgeval.encoders.load import load_encoder

        def load(model, *given, **named):
            if model == "clip-b32":
                raise ModelUnavailable('model "clip-b32": no weights\nhere')
            return load_encoder(model, *given, **named)

        monkeypatch.setattr("sgeval.setup.load_encoder", load)
        given = ["--psg", str(DATA / "psg"), "--protocols", "paper", "--out", str(tmp_path)]
        assert main([*given, "--models", "clip-b32", "demo"]) == 3
        out = capsys.readouterr().out
        assert "| psg-train | clip-b32 | paper | not run |" in out and "| psg-train | demo | paper |" in out
        assert 'Not run: model "clip-b32": no weights\n' in out

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["--psg", "nowhere"], "nowhere"),
            (["--vg150", "."], "VG-SGG-with-attri.h5"),
            (["--demo", "--models", "x"], "model"),
        ],
        ids=str,
    )
    def test_bad_input_ends_with_one_line(self, arguments, words, tmp_path, capsys, monkeypatch):
        monkeypatch.chdir(tmp_path)
        assert main([*arguments, "--out", "out"]) == 2
        told = capsys.readouterr().err
        assert told.startswith("alignment: ") and words in told

    def test_nothing_asked_for(self, capsys):
        with pytest.raises(SystemExit) as ended:
            main([])
        assert ended.value.code == 2 and "expected --psg, --vg150 or --demo" in capsys.readouterr().err
