# SPDX-License-Identifier: MIT
"""What a guest of row_guest runs: the rounds of row_tax, each as a line of JSON: guest.py ROUNDS
BATCHES."""

import json
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), str(HERE.parent)]

import row_tax


def main(rounds: str, batches: str) -> None:
    """Writes what cannot be had as plain lines."""
    found = row_tax.ways(lambda text: print("NOTE", text))
    for done in row_tax.make_rounds(found, int(rounds), int(batches), cpu=0,
                                    progress=lambda text: print("PROGRESS", text)):
        print("ROUND", json.dumps(done._asdict()), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
