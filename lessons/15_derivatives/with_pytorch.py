"""Ask PyTorch whether a written backward pass is right.

    python -m lessons.15_derivatives.with_pytorch

A small SIREN becomes a `torch.autograd.Function`. PyTorch's own `gradcheck` compares its gradients
with finite differences, and its own SIREN, of torch.sin, gives the same. Where there is no PyTorch,
one line says how to get it.
"""

import itertools
import warnings

import kernels.plumbing.supported_python  # noqa: F401
from kernels.derivatives import models
from kernels.derivatives.torch_function import import_torch, torch_function
from kernels.plumbing.errors import InputError
from kernels.plumbing.program import complain, run
from lessons.capstones.device import choose_device

OMEGA, BATCH, WIDTH, LAYERS = 3.0, 6, 5, 2


def main():
    try:
        torch = import_torch()
        device = choose_device("auto")
        print(compare(torch, device))
    except InputError as error:
        return complain(error)
    return 0


def compare(torch, device):
    """One line: what gradcheck says, and how far the gradients are from PyTorch's own."""
    where = "cuda" if device.name == "cuda" else "cpu"
    model = models.siren(LAYERS, OMEGA)
    apply = torch_function(
        "siren", model.tape, "loss", ("positions", "target"), model.parameters, device.launch
    )
    generator = torch.Generator().manual_seed(1)

    def random(*shape):
        return (2 * torch.rand(shape, generator=generator) - 1).to(where)

    inputs = random(BATCH, 2), random(BATCH, 3).abs()
    widths = [2, *[WIDTH] * LAYERS, 3]
    parameters = []
    for fan_in, fan_out in itertools.pairwise(widths):
        parameters += [random(fan_in, fan_out), random(1, fan_out)]
    for parameter in parameters:
        parameter.requires_grad_(True)

    with warnings.catch_warnings():
        # It would like doubles; our kernels are float32, and the step is made for that.
        warnings.simplefilter("ignore")
        try:
            torch.autograd.gradcheck(apply, (*inputs, *parameters), eps=1e-2, atol=1e-2, rtol=1e-2)
        except RuntimeError as error:
            first = str(error).partition("numerical")[0].strip(" ,\n")[:150]
            raise InputError(f"PyTorch's gradcheck finds a wrong gradient: {first}") from None
    ours = torch.autograd.grad(apply(*inputs, *parameters).mean(), parameters)
    theirs = torch.autograd.grad(siren_of_torch(torch, *inputs, parameters).mean(), parameters)
    largest = max(float(gradient.abs().max()) for gradient in theirs)
    apart = max(float((a - b).abs().max()) for a, b in zip(ours, theirs, strict=True))
    return (
        f"PyTorch {torch.__version__} on {device.description}: gradcheck passed; "
        f"{apart / largest:.1e} from the gradients of its own SIREN"
    )


def siren_of_torch(torch, positions, target, parameters):
    """The same network in PyTorch's words."""
    values, factor = positions, OMEGA
    *hidden, weights, biases = parameters
    for w, b in zip(hidden[::2], hidden[1::2], strict=True):
        values, factor = torch.sin(factor * (values @ w + b)), 1.0
    return (torch.sigmoid(values @ weights + biases) - target) ** 2


if __name__ == "__main__":
    raise SystemExit(run(main))
