"""The same training in PyTorch and in JAX, each written as fast as we know how.

    python -m benchmarks.peers torch bf16 40000 1

prints one JSON line: µs per step and the PSNR reached. A process of its own for each, started by
`benchmarks.gpu_step`; neither library is needed for anything else.

Same picture, model (padding included where it helps), batch, steps, learning rates, schedule and
Adam constants as ours. Batches are drawn and their colours looked up inside the timing; compiling
is not.
"""

import json
import math
import os
import sys
import time

import numpy as np

from kernels.config import Config
from kernels.files.images import load_image
from kernels.files.psnr import psnr
from kernels.state import initial_state

LAKE = "images/lake.png"
STEPS_PER_GRAPH = 20


def schedule(config):
    steps = range(1, config.steps + 1)
    factors = np.array([config.learning_rate_factor(step) for step in steps], np.float32)
    return np.stack([config.learning_rate_mlp * factors, config.learning_rate_grid * factors], 1)


# ---------------------------------------------------------------- PyTorch


def pytorch(image, config, precision):
    """torch.compile for the loss, Adam fused and capturable, whole steps in a CUDA graph."""
    import torch
    from torch.nn import functional

    torch.manual_seed(config.seed)
    torch.set_float32_matmul_precision("high")  # TF32 where it helps
    device = "cuda"
    state = initial_state(config)

    def as_texture(array):  # (1, 3, h, w), as grid_sample wants it
        return torch.tensor(array, device=device).permute(2, 0, 1)[None].contiguous()

    target, grid = as_texture(image), as_texture(state.feature_grid).requires_grad_()
    weights, begin = [], 0
    for fan_in, fan_out in config.layer_shapes:
        part = state.weights[begin : begin + fan_in * fan_out].reshape(fan_in, fan_out)
        weights.append(torch.tensor(part, device=device, requires_grad=True))
        begin += fan_in * fan_out
    half = {"bf16": torch.bfloat16, "f32": torch.float32}[precision]
    sizes = torch.tensor([config.grid_width, config.grid_height], device=device)

    def look_up(texture, uv):
        place = (uv * 2 - 1).view(1, 1, -1, 2)
        return functional.grid_sample(
            texture, place, mode="bilinear", padding_mode="border", align_corners=False
        )[0, :, 0].t()

    def network(uv):
        position = uv * sizes - 0.5
        turns = torch.cat([position - torch.floor(position), uv, 2 * uv], 1) * (2 * math.pi)
        waves = [torch.sin(turns), torch.cos(turns[:, 2:]), uv.new_ones(len(uv), 3)]
        x = torch.cat([look_up(grid, uv), *waves], 1).to(half)
        for matrix in weights[:-1]:
            x = functional.relu(x @ matrix.to(half))
        return torch.sigmoid((x @ weights[-1].to(half))[:, :3].float())

    @torch.compile
    def loss_of(uv):
        with torch.no_grad():
            colours = look_up(target, uv)
        return functional.mse_loss(network(uv), colours)

    rates = torch.tensor(schedule(config), device=device)
    rates = torch.cat([rates, rates[-1:].expand(STEPS_PER_GRAPH, 2)])
    groups = [
        dict(params=weights, lr=torch.tensor(0.0, device=device)),
        dict(params=[grid], lr=torch.tensor(0.0, device=device)),
    ]
    optimizer = torch.optim.Adam(
        groups, betas=(config.beta1, config.beta2), eps=config.epsilon, fused=True, capturable=True
    )
    counter = torch.zeros(1, dtype=torch.long, device=device)

    def step():
        row = rates.index_select(0, counter)[0]
        groups_now = optimizer.param_groups
        groups_now[0]["lr"].copy_(row[0])
        groups_now[1]["lr"].copy_(row[1])
        optimizer.zero_grad(set_to_none=True)
        loss_of(torch.rand(config.batch, 2, device=device)).backward()
        optimizer.step()
        counter.add_(1)

    seconds = seconds_per_step_in_graphs(torch, step, config.steps)
    with torch.no_grad():
        picture = network(torch.tensor(pixel_centres(image), device=device)).cpu().numpy()
    return seconds, picture, f"torch {torch.__version__}"


def seconds_per_step_in_graphs(torch, step, steps, per_graph=STEPS_PER_GRAPH):
    """Warm up with some steps, record as many as a CUDA graph, and replay it for the rest."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(per_graph):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(per_graph):
            step()
    torch.cuda.synchronize()
    replays = (steps - per_graph) // per_graph
    begin = time.perf_counter()
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()
    return (time.perf_counter() - begin) / (replays * per_graph)


def pixel_centres(image):
    height, width, _ = image.shape
    y, x = np.mgrid[:height, :width]
    return np.stack([(x + 0.5) / width, (y + 0.5) / height], 2).reshape(-1, 2).astype(np.float32)


# ---------------------------------------------------------------- JAX


def jax_loop(image, config, precision):
    """All steps in one `fori_loop` in one jit."""
    import jax
    from jax import lax
    from jax import numpy as jnp

    network = jax_network(config, {"bf16": jnp.bfloat16, "f32": jnp.float32}[precision])
    height, width, _ = image.shape
    parameters = jax_parameters(config)
    flat, rates = jnp.array(image.reshape(-1, 3)), jnp.array(schedule(config))
    adam = jax_adam(config)

    def loss_of(parameters, u, v, target):
        return ((network(parameters, u, v) - target) ** 2).mean()

    def step(i, carried):
        key = jax.random.fold_in(jax.random.key(config.seed, impl="rbg"), i)
        bits = jax.random.bits(key, (2, config.batch), jnp.uint32)
        u, v = (bits >> 8).astype(jnp.float32) * 2.0**-24
        target, _, _ = jax_look_up(flat, u, v, width, height)
        gradients = jax.grad(loss_of)(carried[0], u, v, target)
        return adam(i, carried, gradients, rates[i])

    @jax.jit
    def train(carried, steps):
        return lax.fori_loop(0, steps, step, carried)

    zeros = jax.tree.map(jnp.zeros_like, parameters)
    start = parameters, zeros, zeros
    jax.block_until_ready(train(start, 2))
    begin = time.perf_counter()
    end = jax.block_until_ready(train(start, config.steps))
    seconds = (time.perf_counter() - begin) / config.steps
    uv = pixel_centres(image)
    picture = np.asarray(jax.jit(network)(end[0], jnp.array(uv[:, 0]), jnp.array(uv[:, 1])))
    return seconds, picture, f"jax {jax.__version__}"


def jax_parameters(config):
    """(feature grid (cells, 3), [weights (fan_in, fan_out)]), as our own runs begin."""
    from jax import numpy as jnp

    state = initial_state(config)
    weights, begin = [], 0
    for fan_in, fan_out in config.layer_shapes:
        part = state.weights[begin : begin + fan_in * fan_out].reshape(fan_in, fan_out)
        weights.append(jnp.array(part))
        begin += fan_in * fan_out
    return jnp.array(state.feature_grid.reshape(-1, 3)), weights


def jax_matmul(half):
    """A matrix product with operands of type `half` and float32 sums, and its derivative."""
    import jax
    from jax import numpy as jnp

    def product(equation, a, b):
        return jnp.einsum(
            equation, a.astype(half), b.astype(half), preferred_element_type=jnp.float32
        )

    @jax.custom_vjp
    def matmul(x, w):
        return product("bi,io->bo", x, w)

    def matmul_forward(x, w):
        return matmul(x, w), (x, w)

    def matmul_backward(saved, g):
        x, w = saved
        # A sum over 16,384 samples in one product keeps few processors busy: 32 parts, then a sum.
        parts = 32
        xs, gs = x.reshape(parts, -1, x.shape[1]), g.reshape(parts, -1, g.shape[1])
        return product("bo,io->bi", g, w), product("cbi,cbo->cio", xs, gs).sum(0)

    matmul.defvjp(matmul_forward, matmul_backward)
    return matmul


def jax_look_up(flat, u, v, columns, rows):
    """(texture at (u, v), x fraction, y fraction). flat: (rows * columns, 3)."""
    from jax import numpy as jnp

    x, y = u * columns - 0.5, v * rows - 0.5
    left, top = jnp.floor(x), jnp.floor(y)
    fx, fy = x - left, y - top
    left, top = left.astype(jnp.int32), top.astype(jnp.int32)
    x0, x1 = jnp.clip(left, 0, columns - 1), jnp.clip(left + 1, 0, columns - 1)
    y0, y1 = jnp.clip(top, 0, rows - 1), jnp.clip(top + 1, 0, rows - 1)
    texels = jnp.stack([y0 * columns + x0, y0 * columns + x1, y1 * columns + x0, y1 * columns + x1])
    weights = jnp.stack([(1 - fx) * (1 - fy), fx * (1 - fy), (1 - fx) * fy, fx * fy])
    return (flat[texels] * weights[..., None]).sum(0), fx, fy


def jax_network(config, half):
    """A function (parameters, u, v) -> colours (B, 3)."""
    import jax
    from jax import numpy as jnp

    matmul = jax_matmul(half)

    def network(parameters, u, v):
        grid, weights = parameters
        colours, fx, fy = jax_look_up(grid, u, v, config.grid_width, config.grid_height)
        turns = jnp.stack([fx, fy, u, v, 2 * u, 2 * v], 1) * (2 * math.pi)
        ones = jnp.ones((len(u), 3), jnp.float32)
        x = jnp.concatenate([colours, jnp.sin(turns), jnp.cos(turns[:, 2:]), ones], 1)
        for matrix in weights[:-1]:
            x = jax.nn.relu(matmul(x, matrix))
        return jax.nn.sigmoid(matmul(x, weights[-1])[:, :3])

    return network


def jax_adam(config):
    """A function (step from 0, (parameters, m, v), gradients, rates (2,)) -> the next three."""
    import jax
    from jax import numpy as jnp

    beta1, beta2 = config.beta1, config.beta2

    def adam(i, carried, gradients, rates):
        parameters, m, s = carried
        m = jax.tree.map(lambda m, g: beta1 * m + (1 - beta1) * g, m, gradients)
        s = jax.tree.map(lambda s, g: beta2 * s + (1 - beta2) * g * g, s, gradients)
        t = (i + 1).astype(jnp.float32)
        correction_m, correction_s = 1 / (1 - beta1**t), 1 / (1 - beta2**t)

        def moved(parameter, m, s, rate):
            root = jnp.sqrt(s * correction_s) + config.epsilon
            return parameter - rate * (m * correction_m) / root

        grid = moved(parameters[0], m[0], s[0], rates[1])
        matrices = [moved(*each, rates[0]) for each in zip(parameters[1], m[1], s[1], strict=True)]
        return (grid, matrices), m, s

    return adam


def main():
    name, precision, steps, seed = sys.argv[1:5]
    config = Config(steps=int(steps), seed=int(seed))
    image = load_image(LAKE)
    run = {"torch": pytorch, "jax": jax_loop}[name]
    begin = time.perf_counter()
    seconds, picture, version = run(image, config, precision)
    row = {
        "backend": f"{name} {precision}",
        "batch": config.batch,
        "us_per_step": seconds * 1e6,
        "psnr_db": psnr(picture.reshape(image.shape).astype(np.float32), image),
        "seconds_in_all": time.perf_counter() - begin,
        "version": version,
        "flags": os.environ.get("XLA_FLAGS", ""),
    }
    print(json.dumps(row))


if __name__ == "__main__":
    main()
