"""A run stopped anywhere goes on and ends in the same bytes; nothing that was committed is encoded again."""

import json
import os
import random
import signal
import time

import pytest
from kit import in_child
from resume_kit import BATCH, Steps, all_steps, prepared

from sgeval.cli.scoring import run_job
from sgeval.errors import InvalidInput, SgevalError
from sgeval.journal import Journal
from sgeval.runs import PROGRESS, RESULTS, read_run

case = pytest.fixture(prepared)


def test_25_kills_give_the_same_bytes(case):
    """Kill -9 before or after each of 25 seeded steps, first and last among them, then --resume."""
    run_job(case.job("whole"))
    total = all_steps(case)
    points = [0, total - 1, *random.Random(0).sample(range(1, total - 1), 23)]
    whole = case.encoded()
    batches = whole[0] // 2, whole[1] // 2  # the whole run and the counted one
    for point in points:
        case.log.unlink()
        out = f"run{point}"

        def broken(point=point, out=out):
            Steps(point).install()
            run_job(case.job(out))

        assert in_child(broken) == -signal.SIGKILL
        done, before = case.committed(out), case.encoded()
        assert in_child(lambda out=out: run_job(case.job(out), resume=True)) == 0
        after = case.encoded()
        if (case.folder / out / PROGRESS).exists() or done != (0, 0):
            assert (after[0] - before[0], after[1] - before[1]) == (batches[0] - done[0], batches[1] - done[1])
        assert case.bytes(out) == case.bytes("whole"), f"killed at step {point} of {total}"
        assert not (case.folder / out / PROGRESS).exists()


def test_kills_at_any_moment(case):
    """Kill after a random time, again and again, until the run comes through."""
    run_job(case.job("whole"))
    generator = random.Random(1)
    for attempt in range(12):
        delay = generator.uniform(0.005, 0.06) * (1 + attempt / 3)

        def doomed(delay=delay):
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.setitimer(signal.ITIMER_REAL, delay)  # ends the process without a word
            run_job(case.job(), resume=True)
            signal.setitimer(signal.ITIMER_REAL, 0)

        assert in_child(doomed) in (0, -signal.SIGALRM)
    run_job(case.job(), resume=True)
    assert case.bytes() == case.bytes("whole")


def test_resume_of_nothing_and_of_a_complete_run(case):
    """Nothing there: it starts. Complete: it is read and left alone, not even the encoder is asked."""
    first = run_job(case.job(), resume=True)
    before, encoded = case.bytes(), case.encoded()
    again = run_job(case.job(), resume=True)
    assert again.result == first.result and case.bytes() == before and case.encoded() == encoded


def test_other_options_are_refused(case):
    run_job(case.job(), resume=True)
    with pytest.raises(SgevalError, match="holds a complete run with penalty"):
        run_job(case.job(penalty="none"), resume=True)

    def stopped():
        Steps(6).install()
        run_job(case.job("broken"))

    assert in_child(stopped) == -signal.SIGKILL
    with pytest.raises(SgevalError, match="the unfinished run has batch_size"):
        run_job(case.job("broken", batch_size=BATCH + 1), resume=True)
    with pytest.raises(SgevalError, match="holds a run that is not complete; go on with --resume"):
        run_job(case.job("broken"))
    (case.folder / "p.jsonl").write_text((case.folder / "p.jsonl").read_text() + "\n")
    with pytest.raises(SgevalError, match="the unfinished run has predictions"):
        run_job(case.job("broken"), resume=True)
    run_job(case.job("broken"), overwrite=True)


def test_old_results_stay_until_the_new_ones_are_whole(case):
    """A run that replaces another is killed at each step: what can be read is the old result or the new one."""
    old = run_job(case.job()).result
    new = run_job(case.job("new", penalty="none")).result
    total = all_steps(case)
    seen = set()
    for point in range(total - 10, total):
        run_job(case.job(), overwrite=True)

        def broken(point=point):
            Steps(point).install()
            run_job(case.job(penalty="none"), overwrite=True)

        assert in_child(broken) == -signal.SIGKILL
        stored = json.loads((case.folder / "run" / RESULTS).read_text())["result"]
        assert stored in (old, new)
        try:
            assert read_run(case.folder / "run").result in (old, new)
            seen.add("old" if stored == old else "new")
        except SgevalError as fault:
            assert "--resume or --overwrite" in str(fault)
            seen.add("mixed tables, told apart")
        run_job(case.job(penalty="none"), resume=True)
        assert case.bytes() == case.bytes("new")
    assert {"old", "new"} <= seen


def test_broken_pictures_are_listed_with_their_ids_and_mended_ones_are_scored(case):
    """All broken pictures are named at the end; the rest is kept; mended, only their batches are encoded."""
    run_job(case.job("whole"))
    batches = case.encoded()[0]
    whole = {}
    for name in ("img002", "img009"):
        path = case.folder / "images" / f"{name}.png"
        whole[path] = path.read_bytes()
        path.write_bytes(whole[path][:200])
    before = case.encoded()
    with pytest.raises(InvalidInput) as fault:
        run_job(case.job())
    assert [line.split(":")[0] for line in fault.value.faults] == ['image "img002"', 'image "img009"']
    done = case.committed()
    assert 0 < done[0] < batches
    for path, data in whole.items():
        path.write_bytes(data)
    middle = case.encoded()
    assert middle[0] > before[0]
    run_job(case.job(), resume=True)
    assert case.encoded()[0] - middle[0] == batches - done[0]
    assert case.bytes() == case.bytes("whole")


def test_a_picture_that_changed_is_scored_anew(case):
    """A batch is read from the journal only while its pictures are the same files."""

    def stopped():
        Steps(10).install()
        run_job(case.job())

    assert in_child(stopped) == -signal.SIGKILL
    assert case.committed()[0] > 0
    from PIL import Image

    names = [json.loads(line)["image_id"] for line in (case.folder / "p.jsonl").read_text().splitlines()]
    for name in names:
        with Image.open(case.folder / "images" / f"{name}.png") as picture:
            size = picture.size
        Image.new("RGB", size, (9, 9, 9)).save(case.folder / "images" / f"{name}.png")
    run_job(case.job(), resume=True)
    run_job(case.job("whole"))
    assert case.bytes() == case.bytes("whole")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_the_command_resumably(case, number, capfd):
    """Exit 130 and the way to go on; then the same bytes."""
    from typer.testing import CliRunner

    from sgeval.cli.app import app

    run_job(case.job("whole"))
    arguments = ["score", "relclipscore", "--predictions", str(case.folder / "p.jsonl")]
    arguments += ["--references", str(case.folder / "g.jsonl"), "--images", str(case.folder / "images")]
    arguments += ["--out", str(case.folder / "run"), "--model", "demo", "--on-invalid", "skip"]
    arguments += ["--batch-size", str(BATCH), "--bootstrap", "20"]

    def stopped():
        put, count = Journal.put, [0]

        def signalled(self, *args):
            put(self, *args)
            count[0] += 1
            if count[0] == 5:
                os.kill(os.getpid(), number)
                time.sleep(1)

        Journal.put = signalled
        os._exit(CliRunner().invoke(app, arguments).exit_code)

    assert in_child(stopped) == 130
    assert case.committed() != (0, 0)
    result = CliRunner().invoke(app, [*arguments, "--resume"])
    assert result.exit_code == 0 or "n_invalid" in result.stderr
    assert case.bytes() == case.bytes("whole")


def test_a_run_that_was_to_be_replaced_is_not_taken_for_the_new_one(case):
    """Killed before its first commit, --overwrite leaves old results; --resume then scores, and does not show them."""
    run_job(case.job())

    def stopped():
        Steps(0).install()
        run_job(case.job(penalty="none"), overwrite=True)

    assert in_child(stopped) == -signal.SIGKILL
    assert case.committed() == (0, 0) and (case.folder / "run" / RESULTS).exists()
    resumed = run_job(case.job(penalty="none"), resume=True)
    assert resumed.options.penalty == "none" and resumed.result == run_job(case.job("new", penalty="none")).result
    with pytest.raises(SgevalError, match="expected one of them, got both"):
        run_job(case.job(), resume=True, overwrite=True)


def test_defaults_that_are_spelt_out_are_the_same_run(case):
    first = run_job(case.job())
    again = run_job(case.job(precision="fp32", preprocess="pil", format="sgeval"), resume=True)
    assert again.result == first.result
