"""Where a run took place: processor, memory, system."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

FEATURES = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "asimd", "asimddp")


def describe() -> dict[str, Any]:
    """Returns what a reader needs to judge the figures."""
    processor, flags = _processor()
    return {
        "cores": os.cpu_count(),
        "processor": processor,
        "features": [name for name in FEATURES if name in flags],
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "python": platform.python_version(),
    }


def _processor() -> tuple[str, set[str]]:
    fields: dict[str, str] = {}
    path = Path("/proc/cpuinfo")
    for line in path.read_text().splitlines() if path.exists() else []:
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    model = fields.get("model name", platform.processor() or platform.machine())
    family = f" (family {fields['cpu family']})" if "cpu family" in fields else ""
    return model + family, set(fields.get("flags", fields.get("Features", "")).split())
