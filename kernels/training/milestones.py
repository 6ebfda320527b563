"""At which steps a run looks at its whole picture."""

# Painting and comparing a pixel takes about a third of the time of training on a sample.
COST_OF_A_PIXEL = 1 / 3
MEASURING_SHARE = 0.03  # of the time of the training; measuring may not take more


def measured_steps(steps: int, batch: int, pixels: int) -> set[int]:
    """When the PSNR of the whole picture is measured: 1, 2, 3, ... 10, 20, 30, ..., and at the end.

    pixels: of the picture. If measuring would take too much of a run's time: 1, 2, 5, 10, 20, ...,
    or at last 1, 10, 100, ...
    """
    affordable = MEASURING_SHARE * steps * batch / (COST_OF_A_PIXEL * pixels)
    for digits in (range(1, 10), (1, 2, 5)):
        chosen = round_steps(steps, digits)
        if len(chosen) <= affordable:
            return chosen
    return round_steps(steps, (1,))


def frame_steps(steps: int) -> set[int]:
    """When the animation gets a picture: 1, 2, 5, 10, 20, 50, ..., and at the end."""
    return round_steps(steps, (1, 2, 5))


def round_steps(steps: int, digits: range | tuple[int, ...]) -> set[int]:
    """Steps up to `steps` that are one of the digits and zeros, and `steps` itself."""
    powers = [10**power for power in range(len(str(steps)))]
    return {digit * power for digit in digits for power in powers if digit * power < steps} | {
        steps
    }
