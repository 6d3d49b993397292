# SPDX-License-Identifier: MIT
"""How much is measured: `./dev bench`, `./dev bench --quick`, and the test that runs each row."""

from typing import NamedTuple


class Scale(NamedTuple):
    """Sizes and numbers of rounds."""

    tax_rounds: int
    tax_batches: int  # of a millisecond each, or so
    guests: tuple[str, ...]  # kernels
    guest_rounds: int
    guest_batches: int
    records: int
    starts: int  # of each program and in each way
    beside: int  # processes that are listed while the latency with others is measured
    tools: int  # first answers of `dotnet-trace ps`
    scan: tuple[tuple[int, int, int], ...]  # processes, threads of each, rounds
    mappings: int
    processes: tuple[int, ...]
    snapshots: int
    rates: tuple[int, ...]  # starts a second
    subscribers: tuple[int, ...]
    few: int  # subscribers while the rate is what changes
    seconds: int  # how long processes start at these rates
    brief: tuple[int, ...]
    idle: float  # seconds
    settle: float  # seconds after which what was begun before is over


FULL = Scale(tax_rounds=21, tax_batches=15, guests=("6.12", "7"), guest_rounds=3,
             guest_batches=5, records=1000, starts=200, beside=1000, tools=10,
             scan=((200, 20, 15), (2000, 20, 9), (10000, 1, 3)), mappings=300,
             processes=(100, 1000, 10000), snapshots=9, rates=(100, 1000), subscribers=(100, 1000),
             few=10, seconds=10, brief=(10000, 100000), idle=60, settle=1)
QUICK = Scale(tax_rounds=5, tax_batches=10, guests=("6.12",), guest_rounds=2,
              guest_batches=5, records=200, starts=20, beside=1000, tools=2,
              scan=((200, 20, 5), (2000, 20, 3)), mappings=300,
              processes=(100, 1000, 10000), snapshots=3, rates=(100, 1000), subscribers=(100, 1000),
              few=10, seconds=3, brief=(1000, 10000), idle=10, settle=1)
TINY = Scale(tax_rounds=1, tax_batches=1, guests=(), guest_rounds=1, guest_batches=1, records=3,
             starts=1, beside=2, tools=1,
             scan=((5, 2, 1), (10, 2, 1)), mappings=10,
             processes=(2, 4), snapshots=1, rates=(10, 20), subscribers=(2, 4),
             few=3, seconds=1, brief=(5, 10), idle=0, settle=0)
