"""Where a model runs and in what numbers: the device, the precision, and what happens when memory runs out."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from sgeval.errors import OutOfMemory, SgevalError, shown

Precision = Literal["fp32", "bf16"]
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}
OUT_OF_MEMORY_WORDS = ("out of memory", "can't allocate memory", "not enough memory")


def resolve_device(device: str) -> str:
    """The device by name; `auto` is the first GPU when there is one, else the CPU."""
    if device == "auto":
        return "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.zeros(1, device=device).cpu()
    except (RuntimeError, AssertionError, TypeError) as fault:
        raise SgevalError(f"device: {shown(device)} cannot be used here ({str(fault).splitlines()[0]})") from None
    return device


def check_precision(precision: str, device: str) -> None:
    """Raise `SgevalError` where half precision has no hardware: it would be emulated, slower than fp32."""
    if precision != "bf16":
        return
    kind = torch.device(device).type
    if kind == "cuda":
        able, place = gpu_has_bf16(device), "this GPU"
    else:
        able, place = kind != "cpu" or cpu_has_bf16(), "this CPU"
    if not able:
        raise SgevalError(f'precision: "bf16" has no hardware support on {place}; use "fp32"')


def gpu_has_bf16(device: str | int) -> bool:
    """Whether the GPU, by name or number, has bfloat16 in hardware; `cuda` is the current one."""
    with torch.cuda.device(device):
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))


def cpu_has_bf16() -> bool:
    """Whether the CPU multiplies bfloat16 itself (AVX512-BF16, AMX or ARM's BF16)."""
    known = torch.cpu.get_capabilities()
    return any(bool(known.get(name)) for name in ("avx512_bf16", "amx_bf16", "bf16"))


@contextmanager
def memory_guard() -> Iterator[None]:
    """Turn the library's out-of-memory errors, on a GPU or not, into `OutOfMemory`."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as fault:
        raise OutOfMemory(one_reason(fault)) from None
    except RuntimeError as fault:
        if any(words in str(fault).lower() for words in OUT_OF_MEMORY_WORDS):
            raise OutOfMemory(one_reason(fault)) from None
        raise


def one_reason(fault: BaseException) -> str:
    """The first line of what a library said."""
    return (str(fault).strip() or type(fault).__name__).splitlines()[0]
