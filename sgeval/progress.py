"""The bar that shows how far a long run has come."""

from typing import Any

BAR_DELAY = 2  # seconds before a progress bar shows


def bar(steps: Any, name: str, unit: str, total: int | None = None) -> Any:
    """A progress bar over `steps`, for anything that takes longer than two seconds; bytes (unit "B") as kB, MB, GB."""
    from tqdm import tqdm

    return tqdm(
        steps, desc=name, unit=unit, total=total, delay=BAR_DELAY, leave=False, disable=None, unit_scale=unit == "B"
    )
