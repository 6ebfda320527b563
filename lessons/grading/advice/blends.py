"""Which four pixels a lookup has blended, and with which weights, if not with the right ones."""

import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

CLOSE = 1e-5
NEARLY = 1e-4  # a fraction has fewer digits than u, and where pixels differ much, a colour fewer
PROBES = 4  # points at which all weights are tried; what fits there is tried at the others
RIGHT = "(1 - x) * (1 - y)", "x * (1 - y)", "(1 - x) * y", "x * y"


class Corners(NamedTuple):
    """The four pixels around each point, (4, points, channels), and the fractions between them."""

    pixels: np.ndarray
    x: np.ndarray
    y: np.ndarray


def other_blends(
    got: np.ndarray, texture: np.ndarray, positions: Mapping[str, np.ndarray]
) -> dict[str, tuple[np.ndarray, str]]:
    """A candidate with other weights, or at other positions, if one fits `got`.

    positions: words -> (points, 2), in pixels from the centre of pixel 0, along x and y. The first
    is the right one.
    """
    if got.ndim != 2 or len(got) < PROBES or min(texture.shape[:2]) < 2:
        return {}  # corners that are the same pixel tell no weights
    right, *others = positions
    corners = corners_of(texture, positions[right])
    weights = fitting_weights(got, corners)
    if weights:
        told = f"{', '.join(weights[:3])} and {weights[3]}"
        sentence = (
            "The top left, top right, bottom left and bottom right pixels are weighed with "
            f"{told}, where x and y are the fractions: it should be {', '.join(RIGHT[:3])} and "
            f"{RIGHT[3]}, as corner_weights returns them."
        )
        return {"weights of the corners": (got.astype(np.float64), sentence)}
    for name in others:
        if np.allclose(got, blended(corners_of(texture, positions[name])), rtol=0, atol=CLOSE):
            sentence = (
                f"Along x, the four pixels are looked for at {name}, and along y in the same way: "
                f"it should be {right}, as the centre of pixel 0 is half a pixel behind its edge."
            )
            return {"places of the corners": (got.astype(np.float64), sentence)}
    return {}


def corners_of(texture: np.ndarray, position: np.ndarray) -> Corners:
    largest = np.array(texture.shape[1::-1]) - 1
    first = np.floor(position).astype(int)
    left, top = np.clip(first, 0, largest).T
    right, bottom = np.clip(first + 1, 0, largest).T
    pixels = [texture[rows, columns] for rows in (top, bottom) for columns in (left, right)]
    return Corners(np.array(pixels, np.float64), *(position - first).T)


def other_pixels_beyond(
    got: np.ndarray, texture: np.ndarray, position: np.ndarray, pixel: str
) -> dict[str, tuple[np.ndarray, str]]:
    """A candidate with other pixels than those at the edge beyond it, if one fits `got`.

    position: as in `other_blends`. pixel: what one of the texture is called.
    """
    if got.ndim != 2 or min(texture.shape[:2]) < 2:
        return {}
    size = np.array(texture.shape[1::-1])
    first = np.floor(position).astype(int)
    both = np.stack([first, first + 1])  # left and top, right and bottom
    mirrored = np.where(both < 0, -both, np.minimum(both, 2 * (size - 1) - both))
    inside = (both >= 0) & (both < size)
    held = np.clip(both, 0, size - 1)
    everywhere = np.ones_like(inside)
    ways = {
        f"those of the opposite edge are blended in, as with %: beyond an edge the {pixel} at the "
        "edge itself": (both % size, everywhere),
        f"the next ones inside are blended in, as in a mirror: beyond an edge the {pixel} at the "
        "edge itself": (mirrored, everywhere),
        f"nothing is: beyond an edge the {pixel} at the edge itself": (held, inside),
    }
    for told, (indices, counts) in ways.items():
        (left, top), (right, bottom) = (one.T for one in indices)
        pixels = [
            texture[rows, columns] * (counts[down][:, 1] & counts[across][:, 0])[:, None]
            for down, rows in enumerate((top, bottom))
            for across, columns in enumerate((left, right))
        ]
        corners = Corners(np.array(pixels, np.float64), *(position - first).T)
        if np.allclose(got, blended(corners), rtol=0, atol=NEARLY):
            sentence = (
                f"Where {pixel}s beyond an edge would be needed, {told} counts, index 0 or "
                "size - 1."
            )
            return {"beyond an edge": (got.astype(np.float64), sentence)}
    return {}


def weights_of(corners: Corners) -> dict[str, np.ndarray]:
    """What a corner may be weighed with: words -> one number per point."""
    x, y = corners.x, corners.y
    products = ((1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y)
    constants = {str(number): np.full_like(x, number) for number in (0, 1, 0.25, 0.5)}
    alone = {"x": x, "y": y, "1 - x": 1 - x, "1 - y": 1 - y}
    halves = {f"({name}) / 2": values / 2 for name, values in alone.items()}
    return {**dict(zip(RIGHT, products, strict=True)), **constants, **alone, **halves}


def fitting_weights(got: np.ndarray, corners: Corners) -> list[str]:
    """Other weights of the four corners that give these colours; empty if there are none."""
    weights = weights_of(corners)
    names, values = list(weights), np.array(list(weights.values()))
    # [corner, weight, point, channel], at points that are far apart
    some = np.linspace(0, len(got) - 1, PROBES).astype(int)
    parts = values[:, some, None] * corners.pixels[:, None, some]
    upper = parts[0][:, None] + parts[1][None]
    lower = parts[2][:, None] + parts[3][None]
    far = np.zeros((len(names),) * 4)
    for point, channel in itertools.product(range(PROBES), range(got.shape[1])):
        sums = upper[:, :, None, None, point, channel] + lower[None, None, :, :, point, channel]
        far = np.maximum(far, np.abs(sums - got[some[point], channel]))
    for chosen in np.argwhere(far < CLOSE):
        result = np.einsum("cp,cpk->pk", values[chosen], corners.pixels)
        told = [names[one] for one in chosen]
        if tuple(told) != RIGHT and np.allclose(got, result, rtol=0, atol=CLOSE):
            return told
    return []


def blended(corners: Corners) -> np.ndarray:
    """The colours with the right weights."""
    weights = weights_of(corners)
    return np.einsum("cp,cpk->pk", np.array([weights[name] for name in RIGHT]), corners.pixels)


def positions_in(texture: np.ndarray, uv: np.ndarray) -> dict[str, np.ndarray]:
    """Positions of points (u, v) in pixels: the right ones, and how else they are computed."""
    size = np.array(texture.shape[1::-1])
    return {
        "u * width - 0.5": uv * size - 0.5,
        "u * width": uv * size,
        "u * width + 0.5": uv * size + 0.5,
        "u * width - 1": uv * size - 1,
        "u * (width - 1)": uv * (size - 1),
        "u * (width - 1) - 0.5": uv * (size - 1) - 0.5,
    }


def at_another_point(
    got: np.ndarray, texture: np.ndarray, uv: np.ndarray, what: str, pixel: str
) -> dict[str, tuple[np.ndarray, str]]:
    """A candidate that asks a texture at other points than (u, v), if one fits `got`.

    what, pixel: what the texture and one of its pixels are called, "grid" and "cell".
    """
    if got.shape != (len(uv), texture.shape[2]):
        return {}
    points, size = other_coordinates(texture, uv, pixel), np.array(texture.shape[1::-1])
    for of_u, of_v in itertools.product(points, repeat=2):
        asked = np.stack([points[of_u], points[of_v]], axis=1)
        result = blended(corners_of(texture, asked * size - 0.5))
        if (of_u, of_v) != ("u", "v") and np.allclose(got, result, rtol=0, atol=NEARLY):
            turned = (of_u, of_v) in (("u", "1 - v"), ("1 - u", "v"), ("1 - u", "1 - v"))
            why = (
                f"u goes to the right, and v down, in uv as in the {what}."
                if turned
                else "are u and v still what uv holds, where bilinear is called?"
            )
            sentence = (
                f"The {what} is asked at ({of_u}, {of_v}), and should be asked at (u, v): {why}"
            )
            return {"at another point": (got.astype(np.float64), sentence)}
    return {}


def other_coordinates(texture: np.ndarray, uv: np.ndarray, pixel: str) -> dict[str, np.ndarray]:
    """What may be taken for u and for v: words -> one number per point."""
    sizes = np.array([texture.shape[1], texture.shape[0]], np.float64)
    fractions = np.mod(uv * sizes - 0.5, 1)
    points = {"u": uv[:, 0], "v": uv[:, 1]}
    for axis, name in enumerate("uv"):
        points |= {
            f"the fraction along {name}": fractions[:, axis],
            f"1 - {name}": 1 - uv[:, axis],
            f"2 * {name}": 2 * uv[:, axis],
            f"{name} / 2": uv[:, axis] / 2,
            f"{name} less half a {pixel}": uv[:, axis] - 0.5 / sizes[axis],
            f"{name} and half a {pixel}": uv[:, axis] + 0.5 / sizes[axis],
            f"the sine of {name}": np.sin(2 * np.pi * uv[:, axis]),
        }
    return points
