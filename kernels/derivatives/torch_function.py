"""Written kernels as a `torch.autograd.Function`: a step in a program of PyTorch.

    tape, launcher  ->  function of tensors

The idea: PyTorch asks a function for two things, its result and the way back. Both are written. The
tensors are not copied: on the CPU NumPy sees their memory, on a GPU Numba does.

PyTorch is not needed for anything else here: `python -m pip install torch`.
"""

from kernels.derivatives.tape import backward_steps
from kernels.derivatives.writer import write
from kernels.derivatives.written import module_of, run_backward, run_forward, shapes_of
from kernels.plumbing.errors import InputError


def import_torch():
    """PyTorch. Raises `InputError` where there is none."""
    try:
        import torch
    except ImportError:
        raise InputError(
            "PyTorch is not installed: python -m pip install torch; the rest of the lesson does "
            "without it"
        ) from None
    return torch


def torch_function(name, tape, result, inputs, parameters, launch, steps_back=backward_steps):
    """A function of float32 tensors, `inputs` and then `parameters`, that returns `result`.

    inputs, parameters: names; PyTorch gets gradients for the parameters only. launch: starts
    kernels where the tensors are, see `kernels.launch`. Raises `InputError` without PyTorch.
    """
    torch = import_torch()
    plan = steps_back(list(tape), result, parameters)
    written = write(name, tape, result, parameters, plan=plan, seeded=True)
    module = module_of(written, f"{name} for PyTorch")
    names = [*inputs, *parameters]

    class Written(torch.autograd.Function):
        @staticmethod
        def forward(context, *tensors):
            given = dict(
                zip(names, (tensor.detach().contiguous() for tensor in tensors), strict=True)
            )
            shapes = shapes_of(tape, {key: tuple(given[key].shape) for key in given})
            for key in written.forward:
                if key not in given:
                    given[key] = tensors[0].new_empty(shapes[key])
            run_forward(module, written, seen_by_numba(given), launch)
            context.given = {key: given[key] for key in given if key != result}
            context.shapes = shapes
            return given[result]

        @staticmethod
        def backward(context, gradient):
            given = {**context.given, f"grad_{result}": gradient.contiguous()}
            for key in written.backward:
                if key not in given:
                    given[key] = gradient.new_zeros(context.shapes[key.removeprefix("grad_")])
            run_backward(module, written, seen_by_numba(given), 1.0, launch)
            return *(None for _ in inputs), *(given[f"grad_{key}"] for key in parameters)

    return Written.apply


def seen_by_numba(tensors):
    """name -> array on the same memory, for tensors on the CPU or on a GPU."""
    return {name: array_of(tensor) for name, tensor in tensors.items()}


def array_of(tensor):
    if not tensor.is_cuda:
        return tensor.numpy()
    from numba import cuda

    return cuda.as_cuda_array(tensor)
