"""The leaderboard: `python app.py` serves the board of this folder, with the results that lie in `results/`."""

from pathlib import Path

from sgeval.board.server import serve

HERE = Path(__file__).parent

if __name__ == "__main__":
    serve(HERE, HERE / "results")
