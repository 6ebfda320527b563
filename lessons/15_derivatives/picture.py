"""Draw this lesson's picture: a tape, the way back that is written from it, and two derivatives.

python -m lessons.15_derivatives.picture
"""

from pathlib import Path

import numpy as np
from PIL import Image

from kernels.derivatives import models
from kernels.derivatives.curves import draw_curves
from kernels.derivatives.functions import gelu, gelu_derivative, sine, sine_derivative
from kernels.derivatives.writer import write
from kernels.files.pictures import save_in_256_colours
from kernels.files.style import INK, MUTED, font, paper

HERE = Path(__file__).parent
WIDTH, LEFT, TOP, ROW = 1290, 24, 92, 52
TAPE_WIDTH, BACK = 330, 420
BANDS = (226, 238, 250), (231, 244, 228), (243, 232, 246), (253, 238, 222)
FORWARD, BACKWARD = (0, 114, 178), (190, 80, 0)


def main():
    model = models.siren(1, 30)
    source = write("a network", model.tape, "loss", model.parameters).source
    curves = Image.fromarray(wrong_and_right())
    height = TOP + ROW * len(model.tape) + 60 + curves.height
    sheet, draw = paper(WIDTH, height)
    draw.text((LEFT, 14), "the tape, as you record it", INK, font(20), "la")
    draw.text((LEFT, 42), "values go down", FORWARD, font(15), "la")
    draw.text((BACK, 14), "the way back, as the machine writes it", INK, font(20), "la")
    draw.text(
        (BACK, 42), "gradients go up; what has one colour is one kernel", BACKWARD, font(15), "la"
    )
    draw_tape(draw, model.tape, kernels_in(source))
    sheet.paste(curves, ((WIDTH - curves.width) // 2, height - curves.height))
    save_in_256_colours(sheet, HERE / "picture.png")


def kernels_in(source):
    """Of each step, by its text: a list of (kernel, line), as they stand below its comment."""
    found, kernel, step = {}, "", None
    for line in source.split("def launch_forward")[0].splitlines():
        text = line.strip()
        if text.startswith("def "):
            kernel, step = text[4:].partition("(")[0], None
        elif text.startswith("# "):
            step = text[2:]
        elif step and text and not text.startswith("@"):
            found.setdefault(step, []).append((kernel, text))
    return found


def draw_tape(draw, tape, written):
    kernels = list(dict.fromkeys(kernel for lines in written.values() for kernel, _ in lines))
    bottom = TOP + ROW * len(tape)
    for number, step in enumerate(tape):
        text = f"{step.output} = {step.function}({', '.join(map(str, step.inputs))})"
        y = TOP + ROW * number
        draw.text((LEFT + 24, y + ROW / 2), text, INK, font(15), "lm")
        # A layer's three lines: what goes on to the step above stands on top.
        lines = sorted(written.get(text, []), key=lambda one: "inputs_derivative" not in one[1])
        if not lines:
            words = f"the same two kernels, for {step.inputs[1]} and {step.inputs[2]}"
            draw.text((BACK + 20, y + ROW / 2), words, MUTED, font(15), "lm")
        pitch = ROW / max(len(lines), 1)
        for place, (kernel, line) in enumerate(lines):
            top = y + place * pitch
            band = BANDS[kernels.index(kernel) % len(BANDS)]
            draw.rectangle((BACK - 6, top, WIDTH - LEFT, top + pitch - 1), band)
            draw.text((BACK + 20, top + pitch / 2), line, INK, font(14 if pitch > 20 else 13), "lm")
    draw_arrow(draw, LEFT + 8, TOP, bottom - 6, FORWARD)
    draw_arrow(draw, BACK + 6, bottom - 6, TOP, BACKWARD)


def draw_arrow(draw, x, begin, end, colour):
    way = 1 if end > begin else -1
    draw.line((x, begin, x, end - 8 * way), colour, 3)
    draw.polygon([(x - 6, end - 10 * way), (x + 6, end - 10 * way), (x, end)], colour)


def wrong_and_right():
    def of_another_function(x, gradient):
        """ReLU's derivative; GELU is nearly ReLU."""
        return gradient if x > 0 else np.float32(0)

    return draw_curves(
        [
            ("sine", sine, sine_derivative),
            ("gelu", gelu, gelu_derivative),
            ("gelu, with a wrong derivative", gelu, of_another_function),
        ]
    )


if __name__ == "__main__":
    main()
