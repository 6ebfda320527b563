"""Measure the ladder of matrix products: GFLOP/s on a GPU, counted traffic without one."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import argparse
from typing import Any

from kernels.plumbing.errors import InputError
from lessons.capstones.command import Command, whole_number
from lessons.capstones.run import Run

from .roofline import Point, ladder_picture
from .rungs import (
    H200,
    NAMES,
    ON_H200,
    Counted,
    Operands,
    Rung,
    count,
    ladder,
    measure,
    measure_torch,
    roof_of_this_gpu,
)

PICTURE, TABLE = "ladder.png", "ladder.txt"
SIZES = 1024, 2048
SMALLEST, LARGEST = 64, 4096
NAME_WIDTH = 26


def add_sizes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--sizes", type=whole_number(SMALLEST, LARGEST), nargs="+", default=SIZES,
        metavar="N", help="on a GPU, the products to measure are N x N x N (default: 1024 2048)",
    )  # fmt: skip


def work(run: Run) -> str:
    on_gpu = run.device.name == "cuda"
    if run.options.sizes is not SIZES and not on_gpu:
        raise InputError(
            "--sizes is for what is measured on a GPU, and here traffic is counted: leave it out"
        )
    mine = run.stages("12", NAMES)
    rungs = ladder(mine)
    sizes = run.options.sizes if on_gpu else []
    run.say(f"on {run.device.description}" + ("" if on_gpu else ": counted, not measured"))
    with run.writing(PICTURE, TABLE):
        counted = [
            run.patiently(f"counting: {rung.name}", lambda r=rung: counts(run, r)) for rung in rungs
        ]
        speeds = {size: measured(run, rungs, size) for size in sizes}
        torch = {size: with_torch(run, size) for size in sizes}
        table = table_of(rungs, counted, speeds, torch)
        run.say("\n" + table)
        roof = roof_of_this_gpu(run.device.description) if on_gpu else H200
        last = sizes[-1] if sizes else None
        points = [
            Point(
                number, rung.name, found.intensity, speeds[last][number - 1] if last else None,
                rung.halves, found.shared_reads, found.barriers,
                None if last else ON_H200.get(rung.name),
            )
            for number, (rung, found) in enumerate(zip(rungs, counted, strict=True), 1)
        ]  # fmt: skip
        run.save_picture(PICTURE, ladder_picture(points, roof, last))
        run.save_text(TABLE, table)
        run.finish(summary(rungs, counted, speeds, torch))
    return verdict(rungs, counted, speeds)


def counts(run: Run, rung: Rung) -> Counted:
    """What a rung asks of memory. Raises `InputError` if its product is wrong."""
    found, error = count(rung, run.options.seed)
    for problem in found.problems:
        run.say(f"  PROBLEM in {rung.name}: {problem}")
    require_right(rung, error, "on the checked simulator")
    return found


def require_right(rung: Rung, error: float, where: str) -> None:
    if not error <= 1:
        raise InputError(
            f"the product of {rung.name!r} is wrong {where}: python -m lessons check 12 says why"
        )


def measured(run: Run, rungs: list[Rung], size: int) -> list[float]:
    """GFLOP/s of each rung at size x size. Raises `InputError` for a wrong product."""
    operands, speeds = Operands(run.options.seed, size, size, size), []
    for rung in rungs:
        found = run.patiently(
            f"{size}: {rung.name}", lambda rung=rung: measure(rung, operands, run.device)
        )
        require_right(rung, found[1], f"on the GPU, {size} x {size}")
        speeds.append(found[0])
    return speeds


def with_torch(run: Run, size: int) -> dict[str, float]:
    """GFLOP/s of PyTorch, in float32 and of halves; empty where there is none."""
    operands = Operands(run.options.seed, size, size, size)
    found = {}
    for name, halves in (("PyTorch, float32", False), ("PyTorch, halves", True)):
        speed = measure_torch(operands, halves)
        if speed is not None:
            found[name] = speed
    return found


def table_of(
    rungs: list[Rung],
    counted: list[Counted],
    speeds: dict[int, list[float]],
    torch: dict[int, dict[str, float]],
) -> str:
    """The table as text: what was counted; GFLOP/s, foretold for an H200, and as measured here."""
    columns = f"{{:<{NAME_WIDTH}}} {{:>14}} {{:>13}} {{:>9}} {{:>9}}"
    head = columns.format("rung", "bytes fetched", "shared reads", "barriers", "foretold")
    lines = [head + "".join(f" {f'{size:,}':>11}" for size in speeds)]
    units = columns.format("", "per product", "per product", "per 16", "GFLOP/s")
    lines.append(units + " {:>11}".format("GFLOP/s") * len(speeds))
    for number, (rung, found) in enumerate(zip(rungs, counted, strict=True)):
        line = f"{rung.name:<{NAME_WIDTH}} {found.bytes_fetched:14.4f} "
        line += f"{found.shared_reads:13.4f} {found.barriers:9.2f} {found.foretold:9,.0f}"
        lines.append(line + "".join(f" {speed[number]:11,.0f}" for speed in speeds.values()))
    for name in next(iter(torch.values()), {}):
        line = columns.format(name, "", "", "", "")
        lines.append(line + "".join(f" {speed[name]:11,.0f}" for speed in torch.values()))
    return "\n".join(lines) + "\n"


def summary(
    rungs: list[Rung],
    counted: list[Counted],
    speeds: dict[int, list[float]],
    torch: dict[int, dict[str, float]],
) -> dict[str, Any]:
    rows = []
    for number, (rung, found) in enumerate(zip(rungs, counted, strict=True)):
        gflops = {str(size): speed[number] for size, speed in speeds.items()}
        rows.append({"rung": rung.name, **found._asdict(), "gflops": gflops})
    return {"rungs": rows, "torch_gflops": {str(size): found for size, found in torch.items()}}


def verdict(rungs: list[Rung], counted: list[Counted], speeds: dict[int, list[float]]) -> str:
    problems = sum(len(found.problems) for found in counted)
    found = f"; {problems} problems were found, see above" if problems else ""
    if not speeds:
        first, last = counted[0].bytes_fetched, counted[-1].bytes_fetched
        return f"from {first:.3g} bytes per product to {last:.3g}, counted{found}"
    size, speed = list(speeds.items())[-1]
    return (
        f"{size} x {size}: from {speed[0] / 1000:.1f} TFLOP/s to {max(speed) / 1000:.1f}"
        f" ({rungs[speed.index(max(speed))].name}){found}"
    )


COMMAND = Command(
    "12_product_ladder",
    "Measure the ladder of matrix products: GFLOP/s on a GPU, counted traffic without one.",
    work,
    None,
    add_sizes,
)

if __name__ == "__main__":
    COMMAND.start()
