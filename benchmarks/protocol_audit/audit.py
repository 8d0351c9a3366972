"""Run the four checks, print one line a finding, and draw the figures. Exit status 1 when a check fails.

Run: `python -m benchmarks.protocol_audit.audit [--out DIR] [--check] [--json]`
"""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from .findings import all_findings

FIGURES = Path(__file__).parent / "figures"


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when every finding holds, else 1."""
    parser = argparse.ArgumentParser(description="Check four findings about arXiv 2509.01209 and draw them.")
    parser.add_argument("--out", type=Path, default=FIGURES, help="folder for the figures")
    parser.add_argument("--check", action="store_true", help="run the checks alone, without figures")
    parser.add_argument("--json", action="store_true", help="print all numbers as JSON")
    options = parser.parse_args(arguments)
    findings = all_findings()
    if options.json:
        print(json.dumps([asdict(finding) for finding in findings], indent=1, ensure_ascii=False))
    else:
        for finding in findings:
            print(f"{finding.name} {'holds' if finding.holds else 'FAILS'}: {finding.line}")
    if not options.check:
        from .figures import draw

        draw(findings, options.out)
    return 0 if all(finding.holds for finding in findings) else 1


if __name__ == "__main__":
    raise SystemExit(main())
