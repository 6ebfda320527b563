"""Learn to recall from nothing, and draw who looks at whom: `python -m lessons.19_attention`."""

import kernels.plumbing.supported_python  # noqa: F401  isort: skip
from kernels.plumbing.program import prepare

if __name__ == "__main__":
    prepare()  # now, since the imports below take a second

import math
from argparse import ArgumentParser
from collections.abc import Sequence

import numpy as np

from kernels.attention.layer_norm import EPSILON
from kernels.attention.network import Reader, Stages, rate_at
from kernels.attention.recall import DIGITS, LETTERS, PLACES, words_of
from kernels.files.plot import Measure
from kernels.files.style import GRID, INK, MUTED, font, paper
from lessons.capstones.command import Command, whole_number
from lessons.capstones.run import Run

STEPS, BATCH = 250, 128
HELD_OUT, EXAMINED, EVERY = 2048, 256, 25  # rows at the end, and on the way, after so many steps
POINTS, COLUMNS = 8, 5  # of the test of differences
LOOKS, ASKED = (0, 114, 178), (213, 94, 0)
CELL, LEFT, TOP, APART = 19, 34, 84, 56  # pixels of a map


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--layers", type=whole_number(1, 4), default=2, metavar="N",
        help="layers of attention (default: 2; 1 cannot do it)",
    )  # fmt: skip


def work(run: Run) -> str:
    device, options = run.device, run.options
    stages = run.stages.fill(Stages())
    with run.writing("maps.png"):
        reader = kind_of_reader(run)(options.seed, BATCH, device, options.layers, stages)
        run.patiently("compiling", lambda: rehearse(options.seed, reader))
        run.say(
            f"{reader.parameters.size:,} numbers to learn, with the kernels of {run.author}, "
            f"on {device.description}"
        )
        wrong, wrong_in_print = test_of_differences(run, stages)
        tokens, answers = reader.held_out(HELD_OUT)
        examined = tokens[-EXAMINED:], answers[-EXAMINED:]
        accuracy(reader, *examined)  # maps are of rows that it has looked at
        untrained = maps_of(reader, tokens)
        for step in run.steps():
            reader.train(step, rate_at(step, options.steps))
            if step % EVERY == 0 or step == options.steps:
                with run.aside():
                    loss = reader.loss()
                    reached = accuracy(reader, *examined)
                    run.show(step, maps_of(reader, tokens), reached)
                    run.log(step, loss=loss, held_out=reached)
        reached, guessed = accuracy(reader, tokens, answers), most_frequent(tokens, answers)
        run.log(run.step, held_out=reached)
        maps = maps_of(reader, tokens)
        run.show(run.step, maps, reached)
        run.save_picture("maps.png", maps)
        run.finish(
            {
                "layers": options.layers,
                "parameters": reader.parameters.size,
                "batch": BATCH,
                "steps": run.step,
                "launches": reader.step_work.how,
                "fused": run.fused,
                "held_out_rows": HELD_OUT,
                "held_out_accuracy": reached / 100,
                "most_frequent_digit": guessed / 100,
                "points_where_layer_norm_disagrees": wrong,
                "points_where_the_printed_formula_disagrees": wrong_in_print,
                "of_points": POINTS,
            },
            Measure(
                "held out", "right answers, in %", "{:.1f} %",
                baseline="the most frequent digit", loss="cross entropy of the latest rows",
            ),
            guessed,
            shown={"before the first step": untrained},
        )  # fmt: skip
    return (
        f"held out: {reached:.2f} % of {HELD_OUT:,} right with {options.layers} "
        f"layer{'s'[: options.layers > 1]} after {run.step} steps, {run.seconds:.1f} s; the most "
        f"frequent digit of a row: {guessed:.1f} %"
    )


def kind_of_reader(run: Run) -> type[Reader]:
    if not run.fused:
        return Reader
    from kernels.attention.fused import FusedReader  # a handout lacks it

    return FusedReader


def rehearse(seed: int, reader: Reader) -> None:
    """Run every kernel once, for a network of its own: what is compiled does not count."""
    other = type(reader)(seed, 1, reader.device, 1, reader.stages)
    other.train(1, 1)
    other.maps()
    reader.device.synchronize()


def accuracy(reader: Reader, tokens: np.ndarray, answers: np.ndarray) -> float:
    """In percent."""
    found = reader.probabilities_of(tokens).argmax(axis=1)
    return 100 * float(np.mean(found == answers))


def most_frequent(tokens: np.ndarray, answers: np.ndarray) -> float:
    """How often the digit that a row has most often is right, in percent: who cannot look, guesses.

    Of several that are equally frequent the lowest is taken.
    """
    digits = tokens[:, 1::2] - LETTERS
    counts = (digits[:, :, np.newaxis] == np.arange(DIGITS)).sum(axis=1)
    return 100 * float(np.mean(counts.argmax(axis=1) == answers))


# ---------------------------------------------------------------- the test of differences


def test_of_differences(run: Run, stages: Stages) -> tuple[int, int]:
    """At how many of POINTS points lesson 15's `disagrees` names a gradient of layer norm wrong.

    Returns (of `layer_norm_backward`, of the formula in print that has the diagonal only).
    """
    device = run.device
    disagrees = run.stages("15", ["disagrees"]).disagrees
    random = np.random.default_rng(run.options.seed)
    gain, share = random.uniform(0.5, 1.5, (2, COLUMNS)).astype(np.float32)
    row = 1, COLUMNS

    def normalized(inputs: tuple) -> list:
        """x, gain, out, means and scales, on the device."""
        arrays = [device.to_device(np.array([inputs], np.float32)), device.to_device(gain)]
        arrays += [device.empty(row), device.empty(1), device.empty(1)]
        stages.layer_norm(*arrays, launch=device.launch)
        return arrays

    def function(*inputs: np.float32) -> float:
        return float(device.to_host(normalized(inputs)[2])[0] @ share)

    def derivative(*inputs: np.float32) -> tuple:
        x, own_gain, _, *statistics = normalized(inputs[:-1])
        grad_out, grad_x = device.to_device((share * inputs[-1])[np.newaxis]), device.empty(row)
        stages.layer_norm_backward(x, own_gain, *statistics, grad_out, grad_x, launch=device.launch)
        return tuple(device.to_host(grad_x)[0])

    def in_print(*inputs: np.float32) -> tuple:
        scale = 1 / math.sqrt(np.var(inputs[:-1]) + EPSILON)
        return tuple(share * inputs[-1] * gain * np.float32(scale))

    points = [tuple(random.uniform(-2, 2, COLUMNS).astype(np.float32)) for _ in range(POINTS)]
    wrong, wrong_in_print = (
        sum(disagrees(function, one, point) for point in points) for one in (derivative, in_print)
    )
    run.say(
        f"test of differences at {POINTS} points: layer_norm_backward disagrees at {wrong}, the "
        f"formula with the diagonal only at {wrong_in_print}"
    )
    return wrong, wrong_in_print


# ---------------------------------------------------------------- the picture


def maps_of(reader: Reader, tokens: np.ndarray) -> np.ndarray:
    """The maps of the row that was the first of the last mini-batch that the reader looked at."""
    return draw_maps(reader.maps(), words_of(tokens[-BATCH]))


def draw_maps(maps: Sequence[np.ndarray], words: Sequence[str]) -> np.ndarray:
    """Who looks at whom, a square per layer: rows look at columns, the more, the darker.

    maps: (PLACES, PLACES) of each layer; words: what stands at each place.
    """
    side = PLACES * CELL
    size = len(maps) * (side + LEFT + APART) - APART + 40, TOP + side + 40
    sheet, draw = paper(*size)
    target = words.index(words[-1]) + 1  # the digit behind the letter asked for
    for number, weights in enumerate(maps):
        left = 20 + LEFT + number * (side + LEFT + APART)
        draw.text((left, 12), f"layer {number + 1}: who looks at whom", INK, font(18), "la")
        for place, word in enumerate(words):
            middle = (place + 0.5) * CELL
            ink = ASKED if place in (target, PLACES - 1) else INK
            draw.text((left - 12, TOP + middle), word, ink, font(14), "mm")
            draw.text((left + middle, TOP - 12), word, ink, font(14), "mm")
            for other in range(place + 1):
                x, y = left + other * CELL, TOP + place * CELL
                colour = mixed(float(weights[place, other]))
                draw.rectangle((x, y, x + CELL - 2, y + CELL - 2), colour)
        x, y = left + target * CELL, TOP + side - CELL
        draw.rectangle((x - 1, y - 1, x + CELL - 1, y + CELL - 1), None, ASKED, 2)
        share = 100 * weights[-1, target]
        text = f"the last place: {share:.0f} % on the right digit"
        draw.text((left, TOP + side + 10), text, MUTED, font(13), "la")
    return np.asarray(sheet)


def mixed(weight: float) -> tuple[int, ...]:
    return tuple(round(g + (c - g) * weight) for c, g in zip(LOOKS, GRID, strict=True))


COMMAND = Command(
    "19_attention", "Learn to recall, and draw who looks at whom.", work, STEPS, add_options,
    has_fused=True,
)  # fmt: skip

if __name__ == "__main__":
    COMMAND.start()
