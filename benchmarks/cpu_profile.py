"""Where the CPU backend's time goes, stage by stage, on one thread.

    python -m benchmarks.cpu_profile --save cpu-profile

Block after block of 512 samples, at the points that a step draws: what stays in the cache in
training stays there. The peak of the network's arithmetic is that of `benchmarks.cpu_step`.
"""

from functools import partial

import numpy as np
from numba import float32

from benchmarks.cpu_step import LAKE, multiply_adds_per_sample, peak_gflops, seconds_of
from benchmarks.machine import parser_of, save
from kernels.adam import bias_corrections
from kernels.config import Config
from kernels.cpu import step as cpu
from kernels.cpu.adam import adam_grid_rows
from kernels.cpu.compile import compiled
from kernels.files.images import load_image
from kernels.state import initial_state


def fastest(run, rounds=15):
    """Microseconds of the fastest of several rounds: others may have shared the machine."""
    run()
    return 1e6 * min(seconds_of(run) for _ in range(rounds))


@compiled
def blocks_of(
    stage, points, places, corners, shares, uv, target, features, hidden, outputs, deltas, grads,
    grid_grad, image, state,
):  # fmt: skip
    for block in range(points.shape[0]):
        if stage == 0:
            cpu.draw_uv(np.uint64(1), 5, block * 512, uv)
        elif stage == 1:
            cpu.find_corners(points[block], image, corners, shares)
            cpu.blend_corners(image, corners, shares, target)
        elif stage == 2:
            cpu.encode(points[block], state.feature_grid, corners, shares, features)
        elif stage == 3:
            cpu.mlp_forward(features, state.weights, hidden, outputs)
        elif stage == 4:
            cpu.output_delta(outputs, target, 512, float32(1e-5), deltas[0])
        elif stage == 5:
            cpu.mlp_backward(features, state.weights, hidden, deltas, grads)
        elif stage == 6:
            cpu.scatter(places[block], shares, deltas[1], 512, grid_grad)


STAGES = ("random points", "colours", "encode", "forward", "loss", "backward", "scatter")


def stage_times():
    """stage -> microseconds of one thread for a batch of 16,384."""
    config = Config()
    image, state = load_image(LAKE), initial_state(config)
    w = cpu.make_workspace(config, 1)
    corrections = bias_corrections(config.beta1, config.beta2)
    random = np.random.default_rng(1)
    points = random.random((config.batch // cpu.BLOCK, 2, cpu.BLOCK), np.float32)
    places = np.empty((len(points), 4, cpu.BLOCK), np.uint32)
    for block, place in zip(points, places, strict=True):
        cpu.find_corners(block, state.feature_grid, place, w.blend_weights[0])
    times = {}
    for number, name in enumerate(STAGES):
        run = partial(
            blocks_of, number, points, places, w.corners[0], w.blend_weights[0], w.uv[0],
            w.target[0], w.features[0], w.hidden[0], w.outputs[0], w.deltas[0], w.grad_weights[0],
            w.grad_feature_grid[0], image, state,
        )  # fmt: skip
        times[name] = fastest(run)
    rows = config.grid_height

    def adam():
        w.grad_feature_grid[:] = 1e-6
        adam_grid_rows(
            0, rows, state, w.grad_feature_grid, w.adam_rows[0], corrections, float32(0.01),
            config.adam_rates,
        )  # fmt: skip

    def fill():
        w.grad_feature_grid[:] = 1e-6

    times["clear"] = fastest(lambda: cpu.clear(w.grad_feature_grid[0]))
    times["Adam, grid"] = fastest(adam) - fastest(fill)
    return times


def main():
    parser = parser_of(__doc__)
    options = parser.parse_args()
    stages = stage_times()
    total = sum(stages.values())
    for name, us in stages.items():
        print(f"{name:14} {us:7.0f} us, {us / total:5.1%}")
    flops = 2 * multiply_adds_per_sample(Config()) * Config.batch
    gflops = flops / (stages["forward"] + stages["backward"]) * 1e-3
    share = gflops / max(peak_gflops(1) for _ in range(15))
    print(f"network: {gflops:.1f} GFLOP/s, {share:.0%} of the peak")
    save(options.save, stages_us=stages, network_share=share)


if __name__ == "__main__":
    main()
