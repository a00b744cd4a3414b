"""Reruns what bench/results holds: `make results`, with STEPS="match sjf" some of it, STEPS=--list lists."""

import argparse
import sys
from pathlib import Path

from pubmatch_bench import results

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    """Run the chosen steps, then draw; exit 1 if something failed, 2 for a step that is unknown."""
    known = {step.name: step for step in results.steps()}
    parser = argparse.ArgumentParser(prog="make results", description="Rerun benchmarks and reproductions.")
    parser.add_argument("steps", nargs="*", metavar="STEP", help="which records to make; default: all")
    parser.add_argument("--list", action="store_true", help="list the steps and whether they are current")
    parser.add_argument("--force", action="store_true", help="also those whose record is current")
    asked = parser.parse_args()
    unknown = [name for name in asked.steps if name not in known]
    if unknown:
        parser.error(f"unknown step {unknown[0]!r}; known are {', '.join(known)}")
    chosen = [known[name] for name in asked.steps] or list(known.values())
    if asked.list:
        for step in chosen:
            current = "current" if results.is_current(ROOT / step.record, ROOT) else "to do"
            print(f"{step.name:<22} {current:<8} pubmatch {' '.join(step.arguments)}")
        return 0
    print(results.state(ROOT), file=sys.stderr)
    outcomes = results.run(chosen, ROOT, force=asked.force, notify=lambda line: print(line, file=sys.stderr))
    for outcome in outcomes:
        print(f"{outcome.step.name:<22} {outcome.what:<8} {outcome.seconds:8.0f} s")
    undrawn = results.draw(ROOT)
    for module in undrawn:
        print(f"{module}: failed", file=sys.stderr)
    return 1 if undrawn or any(outcome.what == "failed" for outcome in outcomes) else 0


if __name__ == "__main__":
    sys.exit(main())
