"""Honest archives come out as they went in, what is there already stays, and the command says what it did."""

import json
import os
import zipfile
from pathlib import Path

import pytest
from archive_kit import HONEST, OURS, contents, honest, own, tar_of, tree, zip_of
from typer.testing import CliRunner

from sgeval.archives import unpack
from sgeval.cli.app import app
from sgeval.errors import SgevalError

KINDS = ("zip", "stored.zip", "tar", "tar.gz", "tgz", "tar.bz2", "tar.xz")


class TestHonest:
    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind(self, kind: str, tmp_path: Path):
        told = unpack(honest(tmp_path, kind), tmp_path / "new/into")
        assert contents(tmp_path / "new/into") == HONEST and own(tmp_path / "new/into") == OURS
        assert (told.files, told.bytes) == (5, sum(map(len, HONEST.values())))
        assert set(told.top) == {"annotations", "pictures", "README.txt"}
        assert (told.already, told.left_out, told.archives) == (False, (), ())

    def test_the_name_does_not_say_the_kind(self, tmp_path: Path):
        for kind in ("zip", "tar", "tar.xz"):
            archive = honest(tmp_path, kind).rename(tmp_path / "download")
            unpack(archive, tmp_path / kind)
            assert contents(tmp_path / kind) == HONEST

    @pytest.mark.parametrize("mode", ["w", "w:gz"])
    def test_forms_of_tar(self, mode: str, tmp_path: Path):
        """Long names in the three ways there are, entries for folders, a dot in front, blanks after the end."""
        import tarfile

        long = "/".join(["folder" * 15] * 5) + "/a.jpg"
        for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
            archive = tmp_path / f"{form}.tar"
            (tmp_path / "from").mkdir(exist_ok=True)
            (tmp_path / "from" / "b.jpg").write_bytes(b"beta")
            (tmp_path / "from" / "empty").mkdir(exist_ok=True)
            with tarfile.open(archive, mode, format=form, bufsize=2**20) as file:  # type: ignore[call-overload]
                file.add(tmp_path / "from", "./")
                file.add(tmp_path / "from" / "b.jpg", f"./{long}")
            unpack(archive, tmp_path / f"into{form}")
            assert contents(tmp_path / f"into{form}") == {"b.jpg": b"beta", long: b"beta"}
            assert (tmp_path / f"into{form}/empty").is_dir()

    def test_forms_of_zip(self, tmp_path: Path):
        """Entries for folders, sizes that follow the content, 64-bit sizes, another order, a comment."""

        class Stream:  # nothing can be sought in it, so sizes follow the content
            def __init__(self, path: Path) -> None:
                self.file = path.open("wb")

            def write(self, data: bytes) -> int:
                return self.file.write(data)

            def flush(self) -> None:
                self.file.flush()

        path = tmp_path / "a.zip"
        with zipfile.ZipFile(Stream(path), "w", zipfile.ZIP_DEFLATED) as file:  # type: ignore[arg-type]
            file.comment = b"made by hand"
            file.writestr("empty/", b"")
            with file.open("z/large.bin", "w", force_zip64=True) as member:
                member.write(b"large " * 10_000)
            file.writestr("a.txt", b"alpha")
            file.filelist.reverse()
        told = unpack(path, tmp_path / "into")
        assert contents(tmp_path / "into") == {"z/large.bin": b"large " * 10_000, "a.txt": b"alpha"}
        assert (tmp_path / "into/empty").is_dir() and told.files == 2

    def test_several_streams_in_one_file(self, tmp_path: Path):
        """As parallel packers write them, xz with zeros between."""
        import bz2
        import gzip
        import lzma

        data = honest(tmp_path, "tar").read_bytes()
        for pack, between in ((gzip.compress, b""), (bz2.compress, b""), (lzma.compress, bytes(8))):
            path = tmp_path / pack.__module__
            path.write_bytes(pack(data[:3000]) + between + pack(data[3000:]) + between)
            unpack(path, tmp_path / f"into-{pack.__module__}")
            assert contents(tmp_path / f"into-{pack.__module__}") == HONEST

    def test_modes(self, tmp_path: Path):
        import tarfile

        entry = tarfile.TarInfo("tool")
        entry.mode = 0o6777
        folder = tarfile.TarInfo("locked")
        folder.type, folder.mode = tarfile.DIRTYPE, 0
        unpack(tar_of(tmp_path / "a.tar", [(entry, b"x"), (folder, b""), ("locked/a", b"y")]), tmp_path / "into")
        mask = os.umask(0)
        os.umask(mask)
        assert (tmp_path / "into/tool").stat().st_mode & 0o7777 == 0o644 & ~mask
        assert (tmp_path / "into/locked").stat().st_mode & 0o7777 == 0o755 & ~mask

    def test_what_macos_adds_is_left_out(self, tmp_path: Path):
        junk = {"__MACOSX/a/._1.jpg": b"x", "a/.DS_Store": b"y", "a/._1.jpg": b"z"}
        told = unpack(zip_of(tmp_path / "a.zip", [("a/1.jpg", b"1"), *junk.items()]), tmp_path / "into")
        assert contents(tmp_path / "into") == {"a/1.jpg": b"1"} and not (tmp_path / "into/__MACOSX").exists()
        assert set(told.left_out) == set(junk) and told.files == 1

    def test_no_members(self, tmp_path: Path):
        assert unpack(zip_of(tmp_path / "a.zip", []), tmp_path / "into").files == 0
        assert unpack(tar_of(tmp_path / "a.tar", []), tmp_path / "into").files == 0

    def test_the_folder_and_the_archive_may_be_links(self, tmp_path: Path):
        honest(tmp_path, "zip")
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "into").symlink_to("elsewhere")
        (tmp_path / "link.zip").symlink_to("honest.zip")
        unpack(tmp_path / "link.zip", tmp_path / "into")
        assert contents(tmp_path / "elsewhere") == HONEST


class TestFoldersWithOtherFiles:
    def test_two_archives_side_by_side(self, tmp_path: Path):
        (tmp_path / "vg").mkdir()
        (tmp_path / "vg/image_data.json").write_text("[]")
        first = zip_of(tmp_path / "images.zip", [("VG_100K/1.jpg", b"1")])
        second = zip_of(tmp_path / "images2.zip", [("VG_100K_2/2.jpg", b"2")])
        for archive in (first, second):
            unpack(archive, tmp_path / "vg")
        whole = {"image_data.json": b"[]", "VG_100K/1.jpg": b"1", "VG_100K_2/2.jpg": b"2"}
        assert contents(tmp_path / "vg") == whole

    def test_two_archives_that_share_folders_and_a_file(self, tmp_path: Path):
        same = ("annotations/README", b"read me")
        first = zip_of(tmp_path / "a.zip", [same, ("annotations/train.json", b"[1]"), ("annotations/deep/1", b"1")])
        second = tar_of(tmp_path / "b.tar", [same, ("annotations/val.json", b"[2]"), ("annotations/deep/2", b"2")])
        told = [unpack(archive, tmp_path / "coco").files for archive in (first, second)]
        assert told == [3, 3] and own(tmp_path / "coco") == OURS
        assert sorted(contents(tmp_path / "coco")) == [
            *("annotations/README", "annotations/deep/1", "annotations/deep/2"),
            *("annotations/train.json", "annotations/val.json"),
        ]

    def test_another_file_is_in_the_way(self, tmp_path: Path):
        (tmp_path / "into/pictures").mkdir(parents=True)
        (tmp_path / "into/pictures/b.jpg").write_bytes(b"mine")
        before = tree(tmp_path / "into")
        for name in ("pictures/b.jpg", "pictures/b.jpg/c.jpg", "pictures"):
            archive = zip_of(tmp_path / "a.zip", [("pictures2/a.jpg", b"a"), (name, b"b!!!")])
            with pytest.raises(
                SgevalError, match=r"pictures.*: expected nothing there, or the file of the archive, got"
            ):
                unpack(archive, tmp_path / "into")
            assert tree(tmp_path / "into") == before

    def test_a_folder_on_another_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        (tmp_path / "into/pictures").mkdir(parents=True)
        archive = zip_of(tmp_path / "a.zip", [("other", b"o"), ("pictures/a.jpg", b"a")])
        before = tree(tmp_path / "into")
        with monkeypatch.context() as patch:
            patch.setattr("sgeval.archives.unpacking._disk", lambda path: ".sgeval-unpacking" in str(path))
            with pytest.raises(SgevalError, match="into/pictures: expected a folder on the disk of the one above"):
                unpack(archive, tmp_path / "into")
        assert tree(tmp_path / "into") == before

    def test_the_same_archive_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        archive = honest(tmp_path, "zip")
        first = unpack(archive, tmp_path / "into")
        before = tree(tmp_path / "into")
        with monkeypatch.context() as patch:
            patch.setattr("sgeval.archives.writing.opened", None)  # it is not even opened
            again = unpack(archive, tmp_path / "into")
        assert again.already and (again.files, again.bytes) == (first.files, first.bytes)
        assert tree(tmp_path / "into") == before

    def test_the_same_archive_after_a_file_went_or_a_new_download(self, tmp_path: Path):
        archive = honest(tmp_path, "zip")
        unpack(archive, tmp_path / "into")
        (tmp_path / "into/pictures/0001/a.jpg").unlink()
        assert not unpack(archive, tmp_path / "into").already
        assert contents(tmp_path / "into") == HONEST
        os.utime(archive, (1, 1))
        assert not unpack(archive, tmp_path / "into").already
        assert contents(tmp_path / "into") == HONEST

    def test_what_is_no_archive_file(self, tmp_path: Path):
        with pytest.raises(SgevalError, match=r"nowhere.zip: expected an archive, got none"):
            unpack(tmp_path / "nowhere.zip", tmp_path / "into")
        with pytest.raises(SgevalError, match="expected an archive, got a folder"):
            unpack(tmp_path, tmp_path / "into")
        (tmp_path / "a.json.gz").write_bytes(b"{}" * 300)
        with pytest.raises(SgevalError, match=r"expected an archive \(zip, tar, .* got something else"):
            unpack(tmp_path / "a.json.gz", tmp_path / "into")
        (tmp_path / "file").write_text("x")
        with pytest.raises(NotADirectoryError):
            unpack(honest(tmp_path, "zip"), tmp_path / "file")
        assert not (tmp_path / "into").exists()


class TestCommand:
    def run(self, *arguments: object):
        return CliRunner().invoke(app, ["data", "unpack", *map(str, arguments)])

    def test_words(self, tmp_path: Path):
        first = honest(tmp_path, "zip")
        second = zip_of(tmp_path / "b.zip", [("masks/train.zip", b"x"), ("masks/._train.zip", b"y")])
        done = self.run(first, second, "--into", tmp_path / "into")
        assert done.exit_code == 0, done.output
        assert done.stdout.splitlines() == [
            f"honest.zip: unpacked, 5 files of {sum(map(len, HONEST.values())):,} bytes in {tmp_path / 'into'}: "
            "annotations, pictures, README.txt",
            f"b.zip: unpacked, 1 file of 1 byte in {tmp_path / 'into'}: masks",
            "  left out 1 file of macOS: masks/._train.zip",
            "  still packed, unpack them next: masks/train.zip",
        ]
        assert "honest.zip: was unpacked before, 5 files" in self.run(first, "--into", tmp_path / "into").stdout

    def test_json(self, tmp_path: Path):
        (told,) = json.loads(self.run(honest(tmp_path, "tar.gz"), "--into", tmp_path / "into", "--json").stdout)
        assert told["archive"] == "honest.tar.gz" and told["files"] == 5 and not told["already"]
        assert set(told) == {"archive", "folder", "files", "bytes", "top", "left_out", "archives", "already"}

    def test_a_refusal_is_one_line(self, tmp_path: Path):
        good = honest(tmp_path, "zip")
        done = self.run(good, zip_of(tmp_path / "evil.zip", [("../x", b"x")]), "--into", tmp_path / "into")
        assert done.exit_code == 2 and contents(tmp_path / "into") == HONEST
        (line,) = done.stderr.splitlines()
        assert line.endswith('evil.zip: member "../x": expected a name below the folder, got one with ".."')
