"""What `sgeval data info` finds inside of frames and panoptic maps."""

import json

import pytest
from data_kit import draw, make_folder, records
from PIL import Image
from typer.testing import CliRunner

from sgeval.cli.app import app
from sgeval.data.inspect import inspect
from sgeval.data.pictures import place_of
from sgeval.data.sets import DATA_SETS


class TestFramesByTheirHeaders:
    """Three of six frames of a video: of another size, cut off, and empty."""

    NAME = "9001_0000000001"

    @pytest.fixture
    def pvsg(self, tmp_path):
        folder = make_folder("pvsg", tmp_path / "pvsg")
        frames = folder / f"data/vidor/frames/{self.NAME}"
        draw(frames / "0003.png", (9, 9))
        (frames / "0004.png").write_bytes((frames / "0004.png").read_bytes()[:40])
        (frames / "0005.png").write_bytes(b"")
        return folder

    def lacking(self, *numbers):
        return [(self.NAME, f"vidor/frames/{self.NAME}/{number:04d}.png") for number in numbers]

    def test_annotated(self, pvsg, monkeypatch):
        """Of 18 frames one is cut off and one is empty."""
        found = inspect("pvsg", pvsg, config="frames")
        assert found.n_pictures == 16 and found.missing_pictures == self.lacking(4, 5)
        (odd,) = [entry for entry in found.oddities if entry.what == "frames of another size than annotated"]
        assert (odd.count, odd.ids, odd.frame) == (1, [self.NAME], 3)
        monkeypatch.setenv("COLUMNS", "250")
        told = CliRunner().invoke(app, ["data", "info", "pvsg", "--config", "frames", "--data-dir", str(pvsg)]).stdout
        assert f"odd       {odd.what}: 1, in 1 video; first in {self.NAME}, frame 3" in told
        assert "16 there, 2 missing, empty or broken" in told

    def test_a_record_without_a_size(self, pvsg):
        """The first frame that can be read says it."""
        file = pvsg / "data/pvsg.json"
        whole = json.loads(file.read_text())
        for record in whole["data"]:
            del record["meta"]["width"]
        file.write_text(json.dumps(whole))
        found = inspect("pvsg", pvsg, config="frames")
        odd = {entry.what: (entry.count, entry.frame) for entry in found.oddities if "size" in entry.what}
        assert odd == {"frames of another size than the first of their video": (1, 3)}
        assert found.missing_pictures == self.lacking(4, 5)

    def test_vipseg(self, tmp_path):
        folder = make_folder("vipseg", tmp_path / "vipseg")
        graph = records("vipseg", folder, "raw")[0]
        draw(place_of(DATA_SETS["vipseg"], "raw", folder).frame(graph, 1), (20, 12))
        found = inspect("vipseg", folder, config="raw")
        assert [(entry.count, entry.ids, entry.frame) for entry in found.oddities if "frames of" in entry.what] == [
            (1, [graph.video_id], 1)
        ]


class TestPanopticMaps:
    def test_decoded_on_request(self, tmp_path):
        """Of the first picture a segment of an object is erased, a map of another is of another size, a third is none, and in
        a fourth a pixel is of a segment that nobody has."""
        psg = make_folder("psg", tmp_path / "psg")
        place = place_of(DATA_SETS["psg"], "full", psg)
        assert inspect("psg", psg, with_masks=True).broken_masks == []
        before = inspect("psg", psg, with_masks=True).oddities
        by_map = {graph.panoptic_file: graph for graph in records("psg", psg) if graph.panoptic_file and graph.objects}
        lacking, small, broken, odd = list(by_map.values())[:4]
        paths = {graph.image_id: place.panoptic_map(graph) for graph in (lacking, small, broken, odd)}
        Image.new("RGB", (lacking.width, lacking.height)).save(paths[lacking.image_id])
        Image.new("RGB", (7, 5)).save(paths[small.image_id])
        paths[broken.image_id].write_bytes(b"no picture")
        changed = Image.open(paths[odd.image_id]).convert("RGB")
        changed.putpixel((0, 0), (1, 2, 3))
        changed.save(paths[odd.image_id])
        found = inspect("psg", psg, with_masks=True)
        words = {
            lacking.image_id: "got a map without it",
            small.image_id: "got 7 x 5",
            broken.image_id: "expected a pict",
        }
        for image_id, word in words.items():
            assert any(f'image "{image_id}": ' in fault and word in fault for fault in found.broken_masks)
        assert any("not those of their record" in fault for fault in found.faults)
        what = "pictures whose panoptic map shows ids that no object has"
        assert [entry.ids for entry in found.oddities if entry.what == what] == [[odd.image_id]]
        assert what not in [entry.what for entry in before]
        assert inspect("psg", psg).broken_masks == []
