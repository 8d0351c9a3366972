"""Made VidOR files, one a video, to a table of `datasets`: time and memory as their number grows, with one process and more.

python benchmarks/perf/vidor.py --videos 2000 10000 --num-proc 1 2
"""

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

GROUPS = 100
PREDICATES = ("in_front_of", "watch", "next_to", "play(instrument)")


def make(folder: Path, n_videos: int, n_frames: int) -> None:
    """Write so many annotation files of the published form: two objects, and a box of each in each frame."""
    draw = random.Random(0)
    for number in range(n_videos):
        group = folder / "annotation/training" / f"{number % GROUPS:04d}"
        group.mkdir(parents=True, exist_ok=True)
        (group / f"{10**9 + number}.json").write_text(json.dumps(_video(number, n_frames, draw)))


def _video(number: int, n_frames: int, draw: random.Random) -> dict[str, Any]:
    frames = []
    for frame in range(n_frames):
        corners = [
            {"xmin": frame + 4, "ymin": 5, "xmax": frame + 15, "ymax": 18},
            {"xmin": 30, "ymin": 9, "xmax": 41, "ymax": 20},
        ]
        frames.append([{"tid": tid, "bbox": box, "generated": 1, "tracker": "kcf"} for tid, box in enumerate(corners)])
    rows = [
        {
            "subject_tid": 0,
            "object_tid": 1,
            "predicate": draw.choice(PREDICATES),
            "begin_fid": first,
            "end_fid": n_frames,
        }
        for first in range(4)
    ]
    name = 10**9 + number
    head = {
        "version": "VERSION 1.0",
        "video_id": str(name),
        "video_hash": "0" * 30,
        "frame_count": n_frames,
        "fps": 29.97,
    }
    path = f"{number % GROUPS:04d}/{name}.mp4"
    objects = [{"tid": 0, "category": "adult"}, {"tid": 1, "category": "dog"}]
    sides = {"video_path": path, "width": 96, "height": 64}
    return {**head, **sides, "subject/objects": objects, "trajectories": frames, "relation_instances": rows}


def run(folder: Path, config: str, num_proc: int) -> dict[str, float]:
    """Build one table in this process and its children; seconds by the wall and by CPUs, and the largest peak of one."""
    from sgeval.hub.data import make_builder

    with tempfile.TemporaryDirectory() as cache:
        began, before = time.perf_counter(), _cpu()
        builder = make_builder("vidor", config, data_dir=folder, cache_dir=cache, with_images=False)
        builder.download_and_prepare(num_proc=num_proc)
        wall, cpu = time.perf_counter() - began, _cpu() - before
    peaks = [resource.getrusage(who).ru_maxrss / 1e3 for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return {"wall": wall, "cpu": cpu, "peak_mb": max(peaks)}


def _cpu() -> float:
    return sum(os.times()[:4])


def main() -> None:
    """Run each number of videos with each number of processes, each run in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--videos", type=int, nargs="+", default=[2_000, 10_000])
    parser.add_argument("--num-proc", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--frames", type=int, default=12)
    parser.add_argument("--config", default="tracks")
    parser.add_argument("--one", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run(Path(given.one[0]), given.config, int(given.one[1]))))
        return
    for n_videos in given.videos:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), n_videos, given.frames)
            for num_proc in given.num_proc:
                command = [sys.executable, __file__, "--config", given.config, "--one", folder, str(num_proc)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                print(
                    json.dumps({"videos": n_videos, "num_proc": num_proc, **json.loads(done.stdout.splitlines()[-1])})
                )


if __name__ == "__main__":
    main()
