"""Checks of lesson 14. Gradients are compared with float64, and with what forgotten terms give.

Most pictures have cells that are not full: 16 x 16 threads, of which some have no pixel.
"""

import functools
import itertools
import re
from functools import partial
from typing import NamedTuple

import numpy as np

from lessons.grading.advice.owners import other_owners
from lessons.grading.checks.case import check
from lessons.grading.checks.mistakes import Left, Mistake, expect_all, same
from lessons.grading.checks.ruled_out import is_clearly_different
from lessons.reference import inline as reference

CELL, CHANNELS, UNITS, LAYERS = 16, 14, 16, 3
WEIGHTS_SHAPE = LAYERS, UNITS + 1, UNITS
PER_CELL = 4 * CHANNELS
CORNERS = "row, column", "row, column + 1", "row + 1, column", "row + 1, column + 1"
ALREADY = 2.0**-10  # what gradients and loss hold before: small, so that no digits are lost
RAGGED = 19, 37  # two rows and three columns of cells, the last of each nearly empty


@check("corners")
def test_corners(case):
    # More than one cell: in a single one, exchanged axes of the grid look like exchanged shares.
    for height, width in ((20, 20), RAGGED):
        # Three features at a time are looked at: all that is blended, and both places.
        for shown in ((3, 14, 15), (0, 1, 2), (13, 7, 10)):
            grid = case.random(reference.grid_shape(height, width), 0.1, 1)
            picture = case.output((height, width, 3))
            case.explain = explained
            weights = showing(case, shown)
            case.run("launch_paint", grid, weights, picture)
            expect_features(case, picture, grid, weights)


def expect_features(case, picture, grid, weights):
    """Compare a picture that shows three features; they may be wrong, or else a layer."""
    height, width, _ = picture.array.shape
    wrong = wrong_features(grid, height, width)
    case.expect(
        picture,
        reference.paint(grid, weights, height, width),
        "picture",
        candidates={
            code: (colours_of(features, weights), sentence)
            for code, (features, sentence) in wrong.items()
        }
        | wrong_pictures(Network(np.zeros((height, width, 3)), grid, weights)),
    )


@check("layers")
def test_layers(case):
    for height, width in ((16, 16), RAGGED, (1, 3)):
        net = network(case, height, width)
        picture = case.output((height, width, 3))
        case.explain = explained
        case.run("launch_paint", net.grid, net.weights, picture)
        expected = reference.paint(net.grid, net.weights, height, width)
        case.expect(picture, expected, "picture", candidates=wrong_pictures(net))


@check("scatter")
def test_scatter(case):
    for launch in ("launch_scatter_direct", "launch_scatter_block"):
        for height, width in ((16, 16), RAGGED, (1, 3)):
            scatter(case, launch, height, width)


@check("few_additions")
def test_few_additions(case):
    height, width = 32, 48
    blocks = 6
    grad_grid, counted = scatter(case, "launch_scatter_block", height, width)
    case.budget(
        "additions to grad_grid per cell of 256 pixels",
        yours=counted.of(grad_grid).atomics / blocks,
        ours=PER_CELL,
        allowed=4 * PER_CELL,  # four groups of threads with a part of the pixels each
        diagnosis="added pixel by pixel",
        sentence="the pixels of a block all belong to one cell: sum up over them in the block "
        "first, and then add each of the 56 sums to global memory, once.",
        line=counted.busiest_line("atomics", grad_grid),
    )
    case.budget(
        "atomic additions in shared memory per cell",
        yours=counted.shared().atomics / blocks,
        ours=0,
        allowed=8 * PER_CELL,  # one per warp is no queue
        diagnosis="a queue in shared memory",
        sentence="the pixels of a block add to shared memory atomically, and wait for each other "
        "there. Let a thread own a sum: it reads the products of all pixels, and adds them up.",
    )
    case.budget(
        "requests for shared memory per cell",
        yours=counted.shared().shared_requests / blocks,
        ours=18 * 8 + 2 * 2 * CELL * CELL,
        allowed=8000,  # a thread alone needs 28,672
        diagnosis="one thread adds up",
        sentence="a few threads add up all 56 sums, and the others wait: let 56 threads own one "
        "each.",
    )


@check("weights")
def test_weights(case):
    for height, width in ((16, 16), RAGGED):
        net = network(case, height, width)
        expect_gradients(case, net, learn(case, net), ("loss_sum", "grad_weights"))


@check("grid")
def test_grid(case):
    for height, width in ((16, 16), RAGGED):
        net = network(case, height, width)
        expect_gradients(case, net, learn(case, net), ("grad_grid",))


@check("few_atomics")
def test_few_atomics(case):
    net = network(case, 32, 32)
    blocks = 4
    arrays = arrays_for(case, net)
    counted = case.measure("launch_learn", *net, *arrays.values())
    expect_gradients(case, net, arrays)
    for name, ours in (("grad_weights", 2 * 17 * 16 + 17 * 3), ("grad_grid", PER_CELL)):
        case.budget(
            f"additions to {name} per block of 256 pixels",
            yours=counted.of(arrays[name]).atomics / blocks,
            ours=ours,
            allowed=4 * max(ours, 3 * 17 * 16 * (name == "grad_weights")),
            diagnosis="added pixel by pixel",
            sentence=f"the pixels of a block add to {name} one by one. Sum up over them first, in "
            "shared memory; then one addition per value and block is enough.",
            line=counted.busiest_line("atomics", arrays[name]),
        )
    case.budget(
        "additions to loss_sum per block",
        yours=counted.of(arrays["loss_sum"]).atomics / blocks,
        ours=1,
        allowed=16,
        diagnosis="added pixel by pixel",
        sentence="each pixel adds its error to loss_sum. Sum up over the block's pixels first.",
        line=counted.busiest_line("atomics", arrays["loss_sum"]),
    )
    case.budget(
        "atomic additions in shared memory per block",
        yours=counted.shared().atomics / blocks,
        ours=0,
        allowed=8 * (PER_CELL + 3 * 17 * 16),
        diagnosis="a queue in shared memory",
        sentence="the pixels of a block add to shared memory atomically, and wait for each other "
        "there. Let a thread own a sum: it reads the products of all pixels, and adds them up.",
    )


@check("float32")
def test_float32(case):
    net = network(case, 5, 18)
    picture = case.output((5, 18, 3))
    case.run("launch_paint", net.grid, net.weights, picture)
    case.expect(picture, reference.paint(net.grid, net.weights, 5, 18), "picture")
    for launch in ("launch_scatter_direct", "launch_scatter_block"):
        scatter(case, launch, 5, 18)
    expect_gradients(case, net, learn(case, net))


@check("large")
def test_large(case):
    height, width = case.size(large=(150, 201), small=(33, 18))
    net = network(case, height, width)
    picture = case.output((height, width, 3))
    case.explain = explained
    case.run("launch_paint", net.grid, net.weights, picture, engine="large")
    expected = reference.paint(net.grid, net.weights, height, width)
    case.expect(picture, expected, "picture", candidates=wrong_pictures(net))
    expect_gradients(case, net, learn(case, net, engine="large"))


# ---------------------------------------------------------------- inputs


class Network(NamedTuple):
    image: np.ndarray
    grid: np.ndarray
    weights: np.ndarray


def network(case, height, width):
    """A random picture and network, in which about half of the units are active."""
    matrices = np.eye(UNITS) + case.random((LAYERS, UNITS, UNITS), -0.3, 0.3)
    biases = case.random((LAYERS, 1, UNITS), -0.3, 0.4)
    # All three colours have to be active somewhere, also in a picture of one pixel.
    biases[-1] += 0.5
    weights = np.concatenate([matrices, biases], axis=1).astype(np.float32)
    grid = case.random(reference.grid_shape(height, width), -1, 1)
    if height * width >= CELL * CELL:
        let_some_be_negative(weights, grid, height, width)
    return Network(case.photo((height, width, 3)), grid, weights)


def let_some_be_negative(weights, grid, height, width):
    """Change the last biases so that about a third of each colour is below zero before its ReLU.

    Zero lies in the widest gap there, so that rounding decides of no pixel.
    """
    hidden = reference.forward(grid, weights, height, width)[-2]
    sums = hidden @ weights[-1, :UNITS].astype(np.float64) + weights[-1, UNITS]
    ranked = np.sort(sums.reshape(-1, UNITS), axis=0)
    about_a_third = ranked[len(ranked) // 4 : len(ranked) * 2 // 5]
    gaps = np.diff(about_a_third, axis=0).argmax(axis=0), np.arange(UNITS)
    middle = about_a_third[gaps] + np.diff(about_a_third, axis=0)[gaps] / 2
    weights[-1, UNITS] -= middle.astype(np.float32)


def showing(case, shown):
    """Weights with which these three features become the colours, as they are.

    They take a way that nothing else takes, so that a wrong layer shows other numbers.
    """
    weights = case.random(WEIGHTS_SHAPE, 0.1, 1)
    weights[:, UNITS] = 0
    for colour, feature in enumerate(shown):
        way = feature, colour, 5 + colour, colour
        for layer, (k, unit) in enumerate(itertools.pairwise(way)):
            weights[layer, :, unit] = 0
            weights[layer, k, unit] = 1
    return weights


def colours_of(features, weights):
    """What three layers make of features, (H, W, 3)."""
    for layer in weights.astype(np.float64):
        features = np.maximum(features @ layer[:UNITS] + layer[UNITS], 0)
    return features[:, :, :3]


def arrays_for(case, net):
    """name -> Output: gradients and loss, and what is there before."""
    shapes = {"grad_grid": net.grid.shape, "grad_weights": WEIGHTS_SHAPE, "loss_sum": (1,)}
    return {
        name: case.output(shape, initial=np.full(shape, ALREADY)) for name, shape in shapes.items()
    }


def learn(case, net, engine=None):
    arrays = arrays_for(case, net)
    case.explain = explained
    case.run("launch_learn", *net, *arrays.values(), engine=engine)
    return arrays


def scatter(case, launch, height, width):
    """Returns (grad_grid, how often the kernel has touched it)."""
    gradient = case.random((height, width, CHANNELS), -1, 1)
    shape = reference.grid_shape(height, width)
    before = case.random(shape, 1, 2)
    grad_grid = case.output(shape, initial=before)
    case.explain = explained_of_a_scatter
    counted = case.measure(launch, gradient, grad_grid)
    known = scatter_mistakes(gradient, before)
    known |= one_pixel_each(gradient, before, grad_grid.array)
    if launch == "launch_scatter_direct":
        known["added by every thread"] = (
            known["added by every thread"][0],
            "Every thread adds what all pixels of its block send: it has one pixel, and adds what "
            "that one sends.",
        )
    else:
        known |= corners_of_other_owners(gradient, before, grad_grid.array)
    case.expect(
        grad_grid, before + reference.scatter(gradient, shape), "grad_grid", candidates=known
    )
    return grad_grid, counted


def explained(found):
    """What an index outside an array, or a number that nobody wrote, says in this lesson."""
    known = {"out-of-bounds": OUTSIDE, "uninitialised": UNWRITTEN}.get(found.kind, {})
    if found.kind == "out-of-bounds" and "axis 2" in found.message:
        known = known | OUTSIDE_LAST_AXIS
    if found.kind == "out-of-bounds" and re.search(r"\bgradient\[-?\d+\] is", found.message):
        return "`gradient` of learn has a number for each of 16 units, or 16 inputs: 0 to 15."
    row = re.search(r"\bactivations\[([1-3]), [0-2]\] is read", found.message)
    if found.kind == "uninitialised" and row:
        return (
            f"Row {row[1]} of activations is not there: forward_layer stores what a layer gives in "
            "row `layer + 1`, and on the way back all of these rows are still needed."
        )
    pixel = re.search(r"\b(?:shares|deltas|inputs)\[\d+, (\d+)\]", found.message)
    if pixel and int(pixel[1]) >= CELL * CELL:
        return PADDING
    told = (text for name, text in known.items() if re.search(rf"\b{name}\[", found.message))
    return next(told, "")


def explained_of_a_scatter(found):
    """As `explained`, of a kernel that has no layers."""
    said = explained(found)
    shared = found.kind == "uninitialised" and "shared memory" in found.message
    return NO_PIXEL if shared and said != PADDING else said


NO_PIXEL = (
    "The owners of the sums read from all 256 threads. So every thread stores its 4 shares and 14 "
    "gradients before the barrier; one without a pixel stores gradients of 0."
)
PADDING = (
    "A block has 256 pixels, PIXELS, so numbers 0 to 255: PITCH makes a row one word longer, which "
    "no pixel has. Does a sum, or a thread's share of it, go on behind the last pixel?"
)
OUTSIDE = {
    "grid": "The grid stores corners of cells of 16 x 16 pixels: that of pixel (x, y) is at "
    "[y // CELL, x // CELL].",
    "grad_grid": "Four corners per cell: rows blockIdx.y and blockIdx.y + 1, columns blockIdx.x "
    "and blockIdx.x + 1, and 14 channels; only 56 threads have one.",
    "picture": "The last blocks reach beyond the picture, (height, width, 3): a thread without a "
    "pixel returns. x is compared with the width, y with the height: picture[y, x, channel].",
    "gradient": "The last blocks reach beyond the picture: a thread without a pixel has no "
    "gradient to read, and counts as 0. x is compared with the width, y with the height: "
    "gradient[y, x, channel].",
    "image": "The last blocks reach beyond the picture: a pixel outside has no colour, no error. x "
    "is compared with the width, y with the height: image[y, x, channel].",
    "shares": "There are 4 shares and 14 channels, so 56 threads own a sum: thread // CHANNELS is "
    "the corner, thread % CHANNELS the channel.",
    "weights": "weights is (3, 17, 16): [layer, k, unit]; the biases are row 16.",
    "grad_weights": "grad_weights is (3, 17, 16): [layer, k, unit]. A layer with `units` units "
    "owns 17 * units of them: k is the number // units, unit the number % units.",
    "activations": "activations is (4, 16): row `layer` holds a layer's inputs, row `layer + 1` "
    "what it gives.",
}
OUTSIDE_LAST_AXIS = {
    "grid": "A corner stores CHANNELS numbers, 14; features 14 and 15 are the places in the cell.",
    "grad_grid": "A corner has CHANNELS numbers, 14, and not the 16 features of a pixel.",
    "picture": "A pixel has COLOURS numbers, 3: nobody looks at the last layer's other units.",
    "gradient": "A pixel's gradient has CHANNELS numbers here, 14: the places have no corners.",
    "image": "A pixel of the image has COLOURS numbers, 3, and so many errors there are.",
}
UNWRITTEN = {
    "activations": "Row 0 holds 14 blended channels and two places; row `layer + 1` what a layer "
    "gives, and the last one gives only COLOURS: so many units, then, on the way back, too.",
    "deltas": "Every thread stores a number in each of a layer's `units` rows of deltas: 0 where "
    "the ReLU has let nothing pass, and where it has no pixel. The last layer has only COLOURS "
    "rows: an owner's k is number // units, its unit number % units.",
    "gradient": "`gradient` holds what the layer above has left: the three colours first, and the "
    "way back begins at the last layer.",
}


# ---------------------------------------------------------------- forward, right and wrong


def blended(grid, height, width, shares=None, indices=None, places=None):
    """The features with other shares, corners or places than the right ones."""
    right_indices, right_shares, right_places = reference.corners(height, width)
    indices = right_indices if indices is None else indices
    shares = right_shares if shares is None else shares
    places = right_places if places is None else places
    flat = np.reshape(grid, (-1, CHANNELS)).astype(np.float64)
    channels = np.einsum("pk, pkc -> pc", shares, flat[indices])
    return np.hstack([channels, places]).reshape(height, width, UNITS)


def shares_of(places):
    x, y = places.T
    return np.stack([(1 - x) * (1 - y), x * (1 - y), (1 - x) * y, x * y], axis=1)


THE_SHARES = (
    "corner_weights(place along x, place along y) gives first that of (row, column), then (row, "
    "column + 1), (row + 1, column) and (row + 1, column + 1)."
)
# code -> (whose share each corner has, sentence). A place u that has become 1 - u leaves the same.
MIRRORED = {
    "reversed": (
        [3, 2, 1, 0],
        "Each corner has the share of the opposite corner. Is 1 minus a place taken where that "
        "belongs, or the four shares in another order? " + THE_SHARES,
    ),
    "reversed along x": (
        [1, 0, 3, 2],
        "The left and the right corners have each other's share. Is 1 minus the place along x "
        "taken where that belongs, or the four shares in another order? " + THE_SHARES,
    ),
    "reversed along y": (
        [2, 3, 0, 1],
        "The upper and the lower corners have each other's share. Is 1 minus the place along y "
        "taken where that belongs, or the four shares in another order? " + THE_SHARES,
    ),
}


def wrong_features(grid, height, width):
    """code -> (features, sentence)."""
    _, shares, places = reference.corners(height, width)
    centres = places + 0.5 / CELL
    half_x, half_y = (places + np.array(half) / CELL for half in ((0.5, 0), (0, 0.5)))
    pixels = places * CELL
    wide = places * CELL / (CELL - 1)
    return {
        "places exchanged": (
            blended(grid, height, width, places=places[:, ::-1]),
            "Features 14 and 15 are exchanged: first the place along x, then that along y.",
        ),
        "x and y exchanged": (
            blended(grid, height, width, shares_of(places[:, ::-1]), places=places[:, ::-1]),
            "x and y are exchanged in the cell: corner_weights takes first the place along x.",
        ),
        "shares of x and y exchanged": (
            blended(grid, height, width, shares_of(places[:, ::-1])),
            "The top right and the bottom left corner have each other's share: corner_weights "
            "takes first the place along x, and then w1 belongs to (row, column + 1), w2 to (row + "
            "1, column).",
        ),
        "axes of the grid exchanged": (
            blended(grid, height, width, indices=axes_exchanged(grid.shape, height, width)),
            "The first two axes of the grid are exchanged: grid[row, column, channel], and the row "
            "comes from y, the column from x.",
        ),
        **{
            f"shares {code}": (blended(grid, height, width, shares[:, order]), sentence)
            for code, (order, sentence) in MIRRORED.items()
        },
        **{
            f"place counted back along {axis}": (
                blended(grid, height, width, shares_of(back), places=back),
                f"The place along {axis} is counted from the next corner: it is 0 at the first "
                "pixel of a cell, and grows from there.",
            )
            for axis, back in places_counted_back(places).items()
        },
        "pixel centres": (
            blended(grid, height, width, shares_of(centres), places=centres),
            "Places are counted from the pixel's centre: here pixel 0 of a cell is exactly at its "
            "corner, place 0.",
        ),
        "pixel centres along x": (
            blended(grid, height, width, shares_of(half_x), places=half_x),
            "The place along x is counted from the pixel's centre: pixel 0 of a cell is exactly at "
            "its corner, place 0.",
        ),
        "pixel centres along y": (
            blended(grid, height, width, shares_of(half_y), places=half_y),
            "The place along y is counted from the pixel's centre: pixel 0 of a cell is exactly at "
            "its corner, place 0.",
        ),
        "places in pixels": (
            blended(grid, height, width, places=pixels),
            "Features 14 and 15 are in pixels: divide by CELL.",
        ),
        "divided by 15": (
            blended(grid, height, width, shares_of(wide), places=wide),
            "The place is divided by 15, CELL - 1: the next corner is 16 pixels further on.",
        ),
        **{
            half: (
                blended(grid, height, width, of_nearest),
                "The nearest corner decides alone: blend all four with their shares.",
            )
            for half, of_nearest in nearest(places).items()
        },
        "first corner": (
            blended(grid, height, width, shares * 0 + [1, 0, 0, 0]),
            "Only the first corner of the cell is looked at: blend all four with their shares.",
        ),
        "corners averaged": (
            blended(grid, height, width, shares * 0 + 0.25),
            "This is the mean of the four corners: each has its own share, by how near it is.",
        ),
        "corners not weighed": (
            blended(grid, height, width, shares * 0 + 1),
            "All corners count fully: each has its share, and the four make one.",
        ),
        **shares_beyond_one(grid, height, width, places),
        **as_in_lesson_2(grid, height, width, places),
        "places missing": (
            blended(grid, height, width, places=places * 0),
            "Features 14 and 15 are zero: they are the pixel's place in its cell.",
        ),
    }


def places_counted_back(places):
    """axes -> places, where 1 minus a place is taken for it."""
    axes = {"x": [True, False], "y": [False, True], "x and y": [True, True]}
    return {name: np.where(back, 1 - places, places) for name, back in axes.items()}


def axes_exchanged(shape, height, width):
    """The corners of each pixel, (H * W, 4), where a grid is indexed [column, row].

    One that is then outside of the grid is the first: such a run has ended before anything is
    compared.
    """
    rows, columns = np.divmod(reference.corners(height, width)[0], shape[1])
    inside = (columns < shape[0]) & (rows < shape[1])
    return np.where(inside, columns * shape[1] + rows, 0)


def nearest(places):
    """name -> (H * W, 4): 1 for the corner that is nearest, by where the middle belongs to."""
    middles = {"nearest corner": places >= 0.5, "nearest or first corner": places > 0.5}
    return {name: shares_of(far.astype(np.float64)) for name, far in middles.items()}


def as_in_lesson_2(grid, height, width, places):
    """What is blended if the grid is taken for centres of cells, or for a picture of lesson 2."""
    found = {}
    for name, sentence, position in (
        (
            "centres of cells",
            "The grid is blended as if its numbers lay at the centres of cells, as in lesson 2: "
            "they lie at the corners, and pixel 0 of a cell is exactly on one.",
            lambda pixel, size, corners: (pixel + 0.5) / CELL - 0.5,
        ),
        (
            "texels of lesson 2",
            "The grid is blended like a picture of lesson 2, stretched over all pixels: here its "
            "corners are 16 pixels apart, whatever the picture's size, and pixel 0 lies on one.",
            lambda pixel, size, corners: (pixel + 0.5) / size * corners - 0.5,
        ),
        (
            "stretched",
            "The grid is stretched over the picture, from the first pixel to the last: its corners "
            "are 16 pixels apart, whatever the picture's size.",
            lambda pixel, size, corners: pixel / max(1, size - 1) * (corners - 1),
        ),
    ):
        for clamped in CLAMPED:
            across, down = (
                between(position(np.arange(size), size, corners), corners, clamped)
                for size, corners in ((width, grid.shape[1]), (height, grid.shape[0]))
            )
            indices, fractions = pairs_of(across, down, grid.shape[1])
            blend = partial(blended, grid, height, width, shares_of(fractions), indices)
            code = f"{name}, {clamped}"
            found[code] = blend(fractions), sentence
            found[f"{code}, places right"] = blend(places), sentence
    return found


# What is held at the first corner, for a pixel before it.
CLAMPED = (
    "position clamped",
    "both corners clamped",
    "first corner clamped",
    "fraction of the clamped corner",
)


def between(position, corners, clamped):
    """(the corner before, the one behind, how far between them) of positions along an axis."""
    floor = np.floor(position).astype(int)
    low, high = np.maximum(floor, 0), np.minimum(floor + 1, corners - 1)
    if clamped != "both corners clamped":
        high = np.minimum(low + 1, corners - 1)
    if clamped == "position clamped":
        return low, high, np.maximum(position, 0) - low
    if clamped == "fraction of the clamped corner":
        return low, high, position - low
    return low, high, position - floor


def pairs_of(across, down, columns):
    """(indices of the four corners, places) of each pixel, from those along x and along y."""
    left, right, x = (np.tile(part, len(down[0])) for part in across)
    top, bottom, y = (np.repeat(part, len(across[0])) for part in down)
    corners = (top, left), (top, right), (bottom, left), (bottom, right)
    indices = np.stack([row * columns + column for row, column in corners], axis=1)
    return indices, np.stack([x, y], axis=1)


def shares_beyond_one(grid, height, width, places):
    """What is blended if the corner that one comes from keeps its whole share."""
    x, y = places.T
    found = {}
    for axis, x_rest, y_rest in (("x", 1 + 0 * x, 1 - y), ("y", 1 - x, 1 + 0 * y)):
        shares = np.stack([x_rest * y_rest, x * y_rest, x_rest * y, x * y], axis=1)
        found[f"not taken away along {axis}"] = (
            blended(grid, height, width, shares),
            f"Along {axis} the shares are more than one: the first corner has 1 - place, and so a "
            "blend of two is first + place * (second - first).",
        )
    return found


class Forward(NamedTuple):
    """What a layer can lack."""

    bias: float = 1.0
    bias_after: bool = False
    active: tuple = (True, True, True)  # after which layers there is a ReLU
    transposed: bool = False
    layers: tuple = (0, 1, 2)
    features_again: bool = False  # each layer takes them, and not what the one before has left
    in_place: bool = False  # outputs are stored over the inputs, unit by unit
    few_inputs: bool = False  # as many as the layer has units
    relu_of_each_sum: bool = False  # after each product, and not after the last one only
    sigmoid: bool = False  # in the last layer, as in part one
    biases_first: bool = False  # row 0 is taken for the biases, and 1 to 16 for the matrix
    bias_row: str = ""  # another row of weights[layer] is taken for them: "units", "unit", "0" ...
    goes_on: str = ""  # each unit's sum begins where that of the unit before has ended


def forward(net, terms):
    """Activations with these `Forward` terms: a list of (H, W, 16)."""
    height, width, _ = net.image.shape
    weights = net.weights.astype(np.float64)
    activations = [reference.encode(net.grid.astype(np.float64), height, width)]
    for number, active in zip(terms.layers, terms.active, strict=True):
        matrix, bias = weights[number, :UNITS], weights[number, UNITS] * terms.bias
        if terms.biases_first:
            matrix, bias = weights[number, 1:], weights[number, 0]
        if terms.bias_row:
            bias = other_biases(weights[number], terms.bias_row, number)
        inputs = activations[0 if terms.features_again else -1]
        if terms.few_inputs:
            inputs = inputs * (np.arange(UNITS) < units_of(number))
        if terms.in_place:
            activations.append(stored_over_inputs(inputs, matrix, bias, units_of(number)))
            continue
        total = inputs @ (matrix.T if terms.transposed else matrix)
        if terms.bias_after:
            activations.append(np.maximum(total, 0) + bias)
            continue
        if terms.relu_of_each_sum:
            activations.append(relu_of_each_sum(inputs, matrix, bias))
            continue
        if terms.goes_on == "products":
            total = total.cumsum(axis=2)
        total = total + bias
        if terms.goes_on == "sums":
            total = total.cumsum(axis=2)
        if terms.sigmoid and number == LAYERS - 1:
            activations.append(1 / (1 + np.exp(-total)))
            continue
        activations.append(np.maximum(total, 0) if active else total)
    return activations


def other_biases(weights, row, number):
    """What stands in another row of a layer's weights, (17, 16), than that of the biases."""
    if row == "unit":
        return weights.diagonal()
    named = {"units": units_of(number), "layer": number}
    return weights[named[row] if row in named else int(row)]


def stored_over_inputs(inputs, matrix, bias, units):
    """What a layer leaves whose units take the place of its inputs, one after the other."""
    found = inputs.copy()
    for unit in range(units):
        found[:, :, unit] = np.maximum(found @ matrix[:, unit] + bias[unit], 0)
    return found


def relu_of_each_sum(inputs, matrix, bias):
    """What a layer leaves that begins at the bias, and takes the ReLU after each product."""
    total = np.broadcast_to(bias, inputs.shape)
    for k in range(UNITS):
        total = np.maximum(total + inputs[:, :, k, np.newaxis] * matrix[k], 0)
    return total


SUM_GOES_ON = (
    "Each unit's sum begins where that of the unit before has ended: it is set back, to 0 or to "
    "the bias, for each unit."
)


def wrong_pictures(net):
    known = {
        "stored over its inputs": (
            Forward(in_place=True),
            "Outputs are stored over the inputs while they are still read: each unit needs all "
            "of the inputs as they were.",
        ),
        "as many inputs as units": (
            Forward(few_inputs=True),
            "The last layer takes three inputs only: it has three units, and all 16 inputs.",
        ),
        "biases forgotten": (
            Forward(bias=0.0),
            "The biases are missing: row 16 of weights[layer] belongs to each sum.",
        ),
        "biases looked for in row 0": (
            Forward(biases_first=True),
            "Row 0 is taken for the biases, and rows 1 to 16 for the matrix: rows 0 to 15 of "
            "weights[layer] are the matrix, from input k, and row 16 holds the biases.",
        ),
        **{
            f"biases in row {row}": (
                Forward(bias_row=row),
                f"The biases are taken from weights[layer, {row}, unit], which is a row of the "
                "matrix: they stand behind it, in row 16, UNITS, of every layer.",
            )
            for row in ("units", "unit", "layer", "0", "15")
        },
        "biases subtracted": (Forward(bias=-1.0), "The biases are subtracted: add them."),
        "bias after ReLU": (
            Forward(bias_after=True),
            "The bias is added after the ReLU: it is a part of the sum.",
        ),
        "no ReLU": (
            Forward(active=(False, False, False)),
            "There is no ReLU: what is below zero becomes zero, after each layer.",
        ),
        "last ReLU forgotten": (
            Forward(active=(True, True, False)),
            "The last layer has a ReLU, too.",
        ),
        "only the last ReLU": (
            Forward(active=(False, False, True)),
            "The ReLU is missing after the first two layers.",
        ),
        "ReLU of each sum": (
            Forward(relu_of_each_sum=True),
            "The ReLU is taken after each product: it belongs behind the loop, where the sum is "
            "complete.",
        ),
        "sum goes on": (Forward(goes_on="sums"), SUM_GOES_ON),
        "sum of products goes on": (Forward(goes_on="products"), SUM_GOES_ON),
        "sigmoid in the last layer": (
            Forward(sigmoid=True),
            "The last layer has a sigmoid, as in part one: here it has a ReLU, too.",
        ),
        "matrices transposed": (
            Forward(transposed=True),
            "The matrices are transposed: weights[layer, k, unit] leads from input k to the unit.",
        ),
        "always the first matrix": (
            Forward(layers=(0, 0, 0)),
            "All layers take the first matrix: use the argument `layer`.",
        ),
        "features again": (
            Forward(features_again=True),
            "Each layer takes the features, row 0: its inputs are in row `layer`.",
        ),
        "layers in reverse": (
            Forward(layers=(2, 1, 0)),
            "The layers come in reverse order: 0 is the one that takes the features.",
        ),
    }
    return {
        code: (forward(net, terms)[-1][:, :, :3], sentence)
        for code, (terms, sentence) in known.items()
    } | {
        "a layer too few": (
            forward(net, Forward())[2][:, :, :3],
            "This is what the second layer leaves: there are three, and the last one leaves the "
            "colours in the last row of activations.",
        ),
        "features": (
            forward(net, Forward())[0][:, :, :3],
            "These are the features, row 0 of activations: the colours are what the last layer "
            "leaves in the last row.",
        ),
    }


# ---------------------------------------------------------------- to the corners


def scattered(features, shape, shares=None, indices=None):
    """As `reference.scatter`, with other shares or corners."""
    height, width, _ = features.shape
    right_indices, right_shares, _ = reference.corners(height, width)
    indices = right_indices if indices is None else indices
    shares = right_shares if shares is None else shares
    flat = np.reshape(features, (height * width, -1))[:, :CHANNELS]
    found = np.zeros((shape[0] * shape[1], CHANNELS))
    np.add.at(found, indices, shares[:, :, np.newaxis] * flat[:, np.newaxis])
    return found.reshape(shape)


def sums_that_go_on(features, shape):
    """code -> (what is added, sentence), if an owner's sums begin where others have ended."""
    height, width, _ = features.shape
    _, shares, _ = reference.corners(height, width)
    ways = {
        "sum goes on over the corners": scattered(features, shape, shares.cumsum(axis=1)),
        "sum goes on over the channels": scattered(features[:, :, :CHANNELS].cumsum(axis=2), shape),
    }
    sentence = (
        "A sum begins where the one before has ended: the total is set back to 0 for each of the "
        "sums that a thread owns, not once for all of them."
    )
    return {code: (added, sentence) for code, added in ways.items()}


def wrong_corners(features, shape):
    """code -> (what is added to the grid's gradients, sentence)."""
    height, width, _ = features.shape
    _, shares, places = reference.corners(height, width)
    y, x = np.divmod(np.arange(height * width), width)
    thread = y % CELL * CELL + x % CELL
    right = reference.scatter(features, shape)
    one_channel = np.zeros(shape)
    one_channel[:, :, 0] = right.sum(axis=2)

    def only(chosen):
        return scattered(features, shape, shares * chosen[:, np.newaxis])

    missing = {
        f"corner {name} missing": (
            scattered(features, shape, shares * (np.arange(4) != corner)),
            f"The corner ({name}) got nothing: there are four.",
        )
        for corner, name in enumerate(CORNERS)
    }
    return missing | {
        "shares forgotten": (
            scattered(features, shape, shares * 0 + 1),
            "Each corner got the whole gradient: multiply it by the corner's share.",
        ),
        "a quarter for each corner": (
            scattered(features, shape, shares * 0 + 0.25),
            "Each corner got a quarter of the gradient: each has its own share, that with which it "
            "was blended.",
        ),
        "shares squared": (
            scattered(features, shape, shares**2),
            "Each part is multiplied by its share twice: once is enough.",
        ),
        "first corner only": (
            scattered(features, shape, shares * [1, 0, 0, 0]),
            "Only the first corner got its part: there are four.",
        ),
        "corners exchanged": (
            scattered(features, shape, shares[:, [0, 2, 1, 3]]),
            "The corners (row, column + 1) and (row + 1, column) got each other's part.",
        ),
        "axes of the grid exchanged": (
            scattered(features, shape, indices=axes_exchanged(shape, height, width)),
            "The first two axes of grad_grid are exchanged: grad_grid[row, column, channel], and "
            "the row comes from y, the column from x.",
        ),
        **to_the_nearest(features, shape),
        "divided by the shares": (
            divided_by_the_shares(features, shape),
            "Each sum is divided by the sum of its shares: that is a mean. The gradient of a "
            "corner is the sum itself, of share times gradient of each pixel.",
        ),
        **{
            f"corners {code}": (scattered(features, shape, shares[:, order]), sentence)
            for code, (order, sentence) in MIRRORED.items()
        },
        "pixel centres": (
            scattered(features, shape, shares_of(places + 0.5 / CELL)),
            "The shares are those of pixel centres: use those with which the corners were blended.",
        ),
        "first warp only": (
            only(thread < 32),
            "Only the pixels of the first 32 threads are summed: a block has 256.",
        ),
        **{
            f"first {pixels} pixels only": (
                only(thread < pixels),
                f"Only the first {pixels} pixels are summed: a cell has 16 x 16.",
            )
            for pixels in (CELL, PER_CELL, 64, 128)
        },
        "shares multiplied": (
            scattered(features, shape, shares.cumprod(axis=1)),
            "Each corner's part has the shares of those before it in it: multiply the gradient "
            "itself by one share, and keep it.",
        ),
        "every fourth pixel": (
            only(thread % 4 == 0),
            "Only every fourth pixel is summed: in steps of 4, four pixels have to be taken.",
        ),
        "last pixel missing": (
            only(thread < CELL * CELL - 1),
            "The last pixel of each cell is missing from the sums.",
        ),
        "one channel": (one_channel, "All channels were added to channel 0."),
        "last channel missing": (
            right * (np.arange(CHANNELS) < CHANNELS - 1),
            "Channel 13 got nothing: there are 14.",
        ),
        "channels two too far": (
            scattered(np.roll(features[:, :, :UNITS], -2, axis=2), shape),
            "The first two channels are left out: channel c is feature c, and the two places come "
            "last.",
        ),
        **sums_that_go_on(features, shape),
        "sign reversed": (-right, "The gradients are subtracted: add them."),
        "added by every thread": (
            right * CELL * CELL,
            "Every thread adds the block's sums: each sum has one owner, who adds it once.",
        ),
    }


def divided_by_the_shares(features, shape):
    """What is added if each cell's sums are means, weighted with the shares."""
    height, width, _ = features.shape
    rows, columns = shape[0] - 1, shape[1] - 1
    padded = np.zeros((rows * CELL, columns * CELL, CHANNELS))
    padded[:height, :width] = features[:, :, :CHANNELS]
    shares = reference.corners(CELL, CELL)[1].reshape(CELL, CELL, 4)
    cells = padded.reshape(rows, CELL, columns, CELL, CHANNELS)
    sums = np.einsum("rycxn, yxk -> krcn", cells, shares / shares.sum(axis=(0, 1)))
    found = np.zeros(shape)
    for corner, of_cells in enumerate(sums):
        below, right = divmod(corner, 2)
        found[below : below + rows, right : right + columns] += of_cells
    return found


def to_the_nearest(features, shape):
    """code -> (what is added, sentence), if a pixel adds to a single corner."""
    height, width, _ = features.shape
    _, shares, places = reference.corners(height, width)
    found = {}
    for half, chosen in nearest(places).items():
        found[f"to the {half}"] = (
            scattered(features, shape, chosen),
            "Each pixel adds to one corner only, the nearest, with its whole gradient: all four "
            "corners of its cell get something, each its share times the gradient.",
        )
        found[f"its share to the {half}"] = (
            scattered(features, shape, chosen * shares),
            "Each pixel adds to one corner only, the nearest, its share: all four corners of its "
            "cell get theirs.",
        )
    found["to the first corner"] = (
        scattered(features, shape, shares * 0 + [1, 0, 0, 0]),
        "Each pixel adds to the first corner only, with its whole gradient: all four corners of "
        "its cell get something, each its share times the gradient.",
    )
    return found


def scatter_mistakes(gradient, before):
    right = reference.scatter(gradient, before.shape)
    return {
        code: (before + added, sentence)
        for code, (added, sentence) in wrong_corners(gradient, before.shape).items()
    } | {
        "stored, not added to": (
            right,
            "What grad_grid held before is gone: add to it, since cells share their corners.",
        ),
        "nothing added": (before, "grad_grid is as it was: nothing was added to it."),
        "last pixels counted again": (
            before + scattered_beyond(gradient, before.shape),
            "The last pixels of a row and a column count again for the threads behind them: a "
            "thread without a pixel has a gradient of 0, not that of its neighbour.",
        ),
    }


def one_pixel_each(gradient, before, got):
    """code -> (result, sentence), if each sum of a single cell is the product of one pixel."""
    if gradient.shape[:2] != (CELL, CELL):
        return {}
    _, shares, _ = reference.corners(CELL, CELL)
    products = shares.T[:, np.newaxis] * gradient.reshape(-1, CHANNELS).T  # (4, 14, 256)
    added = (got.astype(np.float64) - before).reshape(4, CHANNELS)
    nearest = np.abs(products - added[:, :, np.newaxis]).argmin(axis=2)
    chosen = np.take_along_axis(products, nearest[:, :, np.newaxis], axis=2)[:, :, 0]
    return {
        "one pixel each": (
            before + chosen.reshape(before.shape),
            "Each sum is the product of one pixel alone: its owner adds up those of all 256, from "
            "pixel 0 on. The threads of a block do not share a sum, each has another one.",
        )
    }


def corners_of_other_owners(gradient, before, got):
    """code -> (result, sentence), if sums of a single cell have no owner, or several."""
    if gradient.shape[:2] != (CELL, CELL):
        return {}
    right = reference.scatter(gradient, before.shape)
    found = {}
    for name, axes in (("corner by corner", (0, 1, 2)), ("channel by channel", (2, 0, 1))):
        in_turn = [a.transpose(axes).ravel() for a in (right, got.astype(np.float64) - before)]
        told = other_owners([tuple(in_turn)], CELL, CELL)
        if told:
            (sums,), sentence = told
            back = sums.reshape([right.shape[axis] for axis in axes]).transpose(np.argsort(axes))
            found[f"other owners, {name}"] = before + back, sentence
    return found


def scattered_beyond(gradient, shape):
    """As `reference.scatter`; pixels beyond the picture have the gradient of the nearest one."""
    height, width, _ = gradient.shape
    below, right = (shape[0] - 1) * CELL - height, (shape[1] - 1) * CELL - width
    all_threads = np.pad(gradient, ((0, below), (0, right), (0, 0)), mode="edge")
    return reference.scatter(all_threads, shape)


# ---------------------------------------------------------------- backward, right and wrong


class Terms(NamedTuple):
    """The chain rule's terms, each of which is easily forgotten or taken for another."""

    factor: float = 2.0
    count: str = "colours"
    mask: str = "outputs"
    transposed: bool = True  # the weights, on the way back
    stored_transposed: bool = False
    bias: float = 1.0  # the input of the biases
    masked_inputs: bool = False  # the sums take the gradient before the mask
    in_place: str = ""  # the gradient of the inputs is made of what it is written over
    unmasked_below: bool = False  # what goes down is made of the gradient before the mask
    owners: int = 10**9  # how many of a layer's weights have an owner
    order: tuple = (2, 1, 0)  # in which the layers are taken back
    absolute: bool = False  # the error loses its sign
    of_outputs: bool = False  # the weights' sums take the layer's outputs, and not its inputs
    units_down: int = UNITS  # how many units the gradient of the inputs is made of
    biases_unmasked: bool = False  # the sums of the biases alone take the gradient before the mask
    bias_pixels: int = CELL * CELL  # of a block, in the sums of the biases
    goes_on: bool = False  # each input's gradient begins where that of the input before has ended
    last_relu: bool = True  # on the way forward
    owners_go_on: bool = False  # so do the second sums that a thread owns, of weights


def gradients(net, terms=None):
    """name -> what `learn` adds with these terms; the gradients of the features, and all deltas."""
    terms = terms or Terms()
    height, width, _ = net.image.shape
    weights = net.weights.astype(np.float64)
    activations = forward(net, Forward(active=(True, True, terms.last_relu)))
    error = activations[-1][:, :, :3] - net.image
    counts = {
        "colours": error.size,
        "pixels": height * width,
        "one": 1,
        "one pixel": 3,
        "block": 3 * CELL * CELL,
        "threads": 3 * -(-height // CELL) * -(-width // CELL) * CELL * CELL,
        "one side": 3 * width,
    }
    grad = np.zeros((height, width, UNITS))
    slope = np.abs(error) if terms.absolute else error
    grad[:, :, :3] = terms.factor * slope / counts[terms.count]
    found = np.zeros(WEIGHTS_SHAPE)
    deltas = [np.zeros(grad.shape) for _ in range(LAYERS)]
    for layer in terms.order:
        grad[:, :, units_of(layer) :] = 0
        delta = grad * mask_of(terms.mask, activations, layer, grad)
        deltas[layer] = delta
        summed = grad if terms.masked_inputs else delta
        inputs = activations[layer + 1] if terms.of_outputs else activations[layer]
        if terms.of_outputs:
            inputs = inputs * (np.arange(UNITS) < units_of(layer))
        product = np.einsum("yxk, yxu -> ku", inputs, summed)
        found[layer, :UNITS] = product.T if terms.stored_transposed else product
        of_biases = grad if terms.biases_unmasked else summed
        counted = first_pixels(height, width, terms.bias_pixels)[:, :, np.newaxis]
        found[layer, UNITS] = terms.bias * (of_biases * counted).sum(axis=(0, 1))
        if terms.owners_go_on:
            add_the_first_owned(found[layer], units_of(layer))
        matrix = weights[layer, :UNITS]
        if terms.owners < (UNITS + 1) * units_of(layer):
            drop_behind(found[layer], terms.owners, units_of(layer))
        if terms.in_place:
            grad = over_itself(grad if terms.in_place == "gradient" else delta, matrix, layer)
        elif terms.unmasked_below:
            grad = grad @ matrix.T
        elif terms.units_down < UNITS:
            grad = delta[:, :, : terms.units_down] @ matrix.T[: terms.units_down]
        else:
            grad = delta @ (matrix.T if terms.transposed else matrix)
        grad = grad.cumsum(axis=2) if terms.goes_on else grad
    return {
        "grad_weights": found,
        "grad_grid": reference.scatter(grad, net.grid.shape),
        "loss_sum": np.array([np.sum(error**2) / counts[terms.count]]),
        "features": grad,
        "deltas": np.stack(deltas),
    }


def first_pixels(height, width, count):
    """Which pixels, (H, W), are among the first `count` of their cell."""
    y, x = np.mgrid[:height, :width] % CELL
    return y * CELL + x < count


def add_the_first_owned(matrix, units):
    """Add to each weight that is a thread's second one its first one, in place."""
    part = matrix[:, :units].copy().ravel()
    part[CELL * CELL :] += part[: max(0, part.size - CELL * CELL)]
    matrix[:, :units] = part.reshape(-1, units)


def units_of(layer):
    return 3 if layer == LAYERS - 1 else UNITS


def drop_behind(matrix, owners, units):
    """Set what is behind the first `owners` weights of a layer to zero, in place."""
    part = matrix[:, :units].copy().ravel()
    part[owners:] = 0
    matrix[:, :units] = part.reshape(-1, units)


def over_itself(grad, matrix, layer):
    """The gradient of the inputs, each stored before the next one is summed from what is left."""
    left = grad.copy()
    units = units_of(layer)
    for k in range(UNITS):
        left[:, :, k] = left[:, :, :units] @ matrix[k, :units]
    return left


def mask_of(kind, activations, layer, grad):
    outputs, inputs = activations[layer + 1], activations[layer]
    if kind == "none":
        return 1.0
    if kind == "inputs":
        return inputs > 0
    if kind == "gradient":
        return grad > 0
    if kind == "not the last":
        return 1.0 if layer == LAYERS - 1 else outputs > 0
    if kind == "reversed":
        return outputs <= 0
    return outputs > 0


OVER_ITSELF = (
    "`gradient` is stored while it is still read: each of the inputs needs all of the units, so "
    "sum up from deltas, or into another local array."
)


def scales():
    """code -> (`Terms`, sentence): other factors of the loss and of all gradients, or two."""
    factors = {
        "2 forgotten": (1.0, "The 2 is missing: the derivative of error squared is 2 * error."),
        "sign reversed": (
            -2.0,
            "The sign is reversed: error is output - image, not image - output.",
        ),
    }
    counts = {
        "divided by the pixels": (
            "pixels",
            "Divide by 3 H W: the mean goes over the colours, too.",
        ),
        "not divided": ("one", "The mean's division by 3 H W is missing."),
        "divided by the colours": (
            "one pixel",
            "Divide by 3 H W: the mean goes over all pixels, too.",
        ),
        "divided by the block": (
            "block",
            "The mean is over the picture, not over a block's 256 pixels: divide by 3 H W.",
        ),
        "divided by the threads": (
            "threads",
            "The mean is over the pixels, not over all threads: divide by 3 H W of the image.",
        ),
        "divided by one side": (
            "one side",
            "The mean goes over both sides of the picture: divide by 3 H W.",
        ),
    }
    found = {code: (Terms(factor=factor), say) for code, (factor, say) in factors.items()}
    for code, (count, say) in counts.items():
        found[code] = Terms(count=count), say
        for other, (factor, told) in factors.items():
            both = Terms(factor=factor, count=count), f"Two things: {say} {told}"
            found[f"{code}, {other}"] = both
    return found


def known_terms():
    """code -> (`Terms`, sentence)."""
    return scales() | {
        "ReLU mask forgotten": (
            Terms(mask="none"),
            "The ReLU's mask is missing: where an output is 0, no gradient passes.",
        ),
        "last mask forgotten": (
            Terms(mask="not the last"),
            "The last layer has a ReLU, too: where a colour is 0, no gradient passes.",
        ),
        "last ReLU forgotten": (
            Terms(last_relu=False),
            "The last layer has a ReLU, too, on the way forward: the errors are those of colours "
            "below zero.",
        ),
        "last ReLU forgotten forward and back": (
            Terms(last_relu=False, mask="not the last"),
            "The last layer has a ReLU, too: on the way forward, and on the way back, where no "
            "gradient passes if a colour is 0.",
        ),
        "mask of the inputs": (
            Terms(mask="inputs"),
            "The mask looks at the layer's inputs: its ReLU came after it, so it is the outputs, "
            "activations[layer + 1], that have to be above zero.",
        ),
        "mask of the gradient": (
            Terms(mask="gradient"),
            "The mask looks at the gradient: it is the output that has to be above zero.",
        ),
        "mask reversed": (
            Terms(mask="reversed"),
            "The mask is reversed: the gradient passes where the output is above zero.",
        ),
        "sums without the mask": (
            Terms(masked_inputs=True),
            "The weights' sums take the gradient as it was before the ReLU's mask: they need "
            "delta.",
        ),
        "no mask on the way down": (
            Terms(unmasked_below=True),
            "The gradient of the inputs is made of the gradient as it was before the ReLU's mask. "
            "It has to be made of delta, as the sums are.",
        ),
        "stored over itself": (
            Terms(in_place="delta"),
            OVER_ITSELF,
        ),
        "stored over itself, no mask": (
            Terms(in_place="gradient"),
            OVER_ITSELF,
        ),
        "back from the front": (
            Terms(order=(0, 1, 2)),
            "The layers are taken back from the first to the last: the error is at the end, so the "
            "way back begins with layer 2, and ends with layer 0.",
        ),
        **{
            f"layer {left_out} left out": (
                Terms(order=order),
                f"Layer {left_out} is left out on the way back: there are three, 2, 1 and 0.",
            )
            for left_out, order in enumerate(((2, 1), (2, 0), (1, 0)))
        },
        "error without its sign": (
            Terms(absolute=True),
            "The gradients are made of the size of the error: there it keeps its sign, output - "
            "image. Only the loss has the square, which has none.",
        ),
        "outputs, not inputs": (
            Terms(of_outputs=True),
            "The weights' sums take what the layer gives, activations[layer + 1]: they need what "
            "it was given, activations[layer].",
        ),
        "three units on the way down": (
            Terms(units_down=3),
            "The gradient of the inputs is made of the first three units in each layer: it needs "
            "all of the layer's `units`, which are 16 but in the last one.",
        ),
        "gradient of the inputs goes on": (
            Terms(goes_on=True),
            "The gradient of an input begins where that of the input before has ended: the total "
            "is set back to 0 for each of the inputs.",
        ),
        "owner's sum goes on": (
            Terms(owners_go_on=True),
            "The threads that own a second weight add the sum of their first one to it: the total "
            "is set back to 0 for each.",
        ),
        "biases without the mask": (
            Terms(biases_unmasked=True),
            "The biases' sums take the gradient as it was before the ReLU's mask: they need delta.",
        ),
        **{
            f"biases of {pixels} pixels": (
                Terms(bias_pixels=pixels),
                f"The gradient of a bias is summed over the first {pixels} pixels of a block only: "
                "over all 256, like the others.",
            )
            for pixels in (CELL, 32, PER_CELL, 64, 128)
        },
        "mean of the biases": (
            Terms(bias=1 / (CELL * CELL)),
            "The gradient of a bias is the mean of delta over a block's pixels: it is the sum.",
        ),
        "256 weights only": (
            Terms(owners=CELL * CELL),
            "Only the first 256 weights of a layer were summed: it has 17 * 16 = 272, more than a "
            "block has threads, so a thread goes on in steps of 256.",
        ),
        "weights not transposed": (
            Terms(transposed=False),
            "On the way back the sum for input k goes over the units: weights[layer, k, unit].",
        ),
        "gradient stored transposed": (
            Terms(stored_transposed=True),
            "The gradients stand in the places of the transposed matrix: [layer, k, unit] is from "
            "input k to the unit.",
        ),
        **{
            f"biases added by {threads}": (
                Terms(bias=float(threads)),
                f"{threads} threads of each block add the gradient of a bias: one of them is "
                "enough.",
            )
            for threads in (CELL + 1, CELL, PER_CELL, CELL * CELL)
        },
        "biases forgotten": (
            Terms(bias=0.0),
            "The biases' gradients are missing: there are 17 rows, and the last one's input is 1.",
        ),
    }


def known_mistakes(net, right):
    """code -> `Mistake`, of all arrays."""
    height, width, _ = net.image.shape
    known = {}
    for code, (terms, sentence) in known_terms().items():
        known[code] = Mistake(sentence, gradients(net, terms))
        # Most of them spoil the loss only if its own factor is wrong in the same way.
        known[f"{code}, in the gradients"] = Mistake(
            sentence, {**gradients(net, terms), "loss_sum": right["loss_sum"]}
        )
    # The loss is summed with the same row of ones as the biases.
    known["no row of ones"] = Mistake(
        "The gradients of the biases are zero, and so is the loss: both are sums with the inputs' "
        "last row, inputs[UNITS, thread], which has to be 1.",
        {**gradients(net, Terms(bias=0.0)), "loss_sum": np.zeros(1)},
    )
    for code, (added, sentence) in wrong_corners(right["features"], net.grid.shape).items():
        known[f"{code} (grid)"] = Mistake(sentence, {"grad_grid": added})
    features = reference.encode(net.grid, height, width)
    known["features masked"] = Mistake(
        "The features are masked, too: they came from no ReLU, so every gradient passes.",
        {"grad_grid": reference.scatter(right["features"] * (features > 0), net.grid.shape)},
    )
    known["features, not gradients"] = Mistake(
        "The features themselves are handed to the corners: what goes there is the gradient of "
        "each, which the first layer has left in `gradient`.",
        {"grad_grid": reference.scatter(features, net.grid.shape)},
    )
    known |= mistakes_beyond(net, right)
    known["deltas, not gradients"] = Mistake(
        "What goes to the corners are the deltas of layer 0's units, which backward_layer has left "
        "in deltas. The gradients of the features are in `gradient` by then: each thread stores "
        "its own in deltas, before the sums for the corners.",
        {"grad_grid": reference.scatter(right["deltas"][0], net.grid.shape)},
    )
    of_outputs = right["deltas"][1] @ net.weights[1, :UNITS].T.astype(np.float64)
    known["gradients of layer 0's outputs"] = Mistake(
        "What goes to the corners are the gradients of what layer 0 gives: they have to go through "
        "layer 0, too, to become those of the features.",
        {"grad_grid": reference.scatter(of_outputs, net.grid.shape)},
    )
    for code, (loss, sentence) in (
        losses_without_ones(net, right) | losses_overwritten(net, right)
    ).items():
        known[code] = Mistake(sentence, {"loss_sum": np.array([loss])})
    for code, (factor, sentence) in told_together(wrong_losses(net)).items():
        known[code] = Mistake(sentence, {"loss_sum": right["loss_sum"] * factor})
    known["stored, not added to"] = Mistake(
        "What grad_grid held before is gone: add to it, since cells share their corners.",
        {"grad_grid": right["grad_grid"] - ALREADY},
    )
    known["loss stored, not added to"] = Mistake(
        "What loss_sum held before is gone: each block adds to it, atomically.",
        {"loss_sum": right["loss_sum"] - ALREADY},
    )
    if height == width == CELL:
        known["pixels at two places"] = Mistake(
            "The pixels of inputs and those of deltas do not belong together: a thread stores both "
            "at the same place, its number in the block, y * CELL + x.",
            {"grad_weights": sums_of_other_pixels(net, right)},
        )
    if height == width:
        across = net._replace(image=net.image.swapaxes(0, 1))
        known["image transposed"] = Mistake(
            "Rows and columns of the image are exchanged: image[y, x, channel].", gradients(across)
        )
    y, x = np.mgrid[:height, :width]
    first = (y % CELL * CELL + x % CELL) < 32
    if not first.all():
        few = net._replace(image=np.where(first[:, :, np.newaxis], net.image, painted(net)))
        known["first warp only"] = Mistake(
            "Only the pixels of the first 32 threads are summed: a block has 256.",
            gradients(few),
        )
    return known


def sums_of_other_pixels(net, right):
    """The gradients of the weights, if the inputs' pixels lie with rows and columns exchanged."""
    activations = reference.forward(net.grid, net.weights, *net.image.shape[:2])
    found = right["grad_weights"].copy()
    for layer, delta in enumerate(right["deltas"]):
        found[layer, :UNITS] = np.einsum("xyk, yxu -> ku", activations[layer], delta)
    return found


def mistakes_beyond(net, right):
    """code -> `Mistake`, if threads beyond the picture have an error, too."""
    height, width, _ = net.image.shape
    if not (height % CELL or width % CELL):
        return {}
    rule = "a thread without a pixel has an error of 0."
    colours = "The threads beyond the picture count, too, with the colours of the last pixels: "
    black = "The threads beyond the picture count, too, as if the image were black there: "
    again = (
        "A thread beyond the picture computes the pixel at the edge once more, and adds its error "
        "again: "
    )
    found = {
        "last pixels counted again": (gradients_beyond(net, "edge"), colours),
        "black pixels beyond": (gradients_beyond(net, "constant"), black),
        "edge pixels computed again": (edge_again(net, right), again),
        "edge pixels computed again, own shares": (edge_again(net, right, own_shares=True), again),
    }
    known = {code: Mistake(text + rule, arrays) for code, (arrays, text) in found.items()}
    for code, (arrays, text) in found.items():
        known[f"{code}, in the gradients"] = Mistake(
            text + rule, {**arrays, "loss_sum": right["loss_sum"]}
        )
    return known


def gradients_beyond(net, mode):
    """As `gradients`, if pixels beyond the picture have a colour: see `numpy.pad` for the modes."""
    height, width, _ = net.image.shape
    below, right = -height % CELL, -width % CELL
    padded = np.pad(net.image, ((0, below), (0, right), (0, 0)), mode=mode)
    times = padded.size / net.image.size  # the mean is still divided by the picture's size
    found = gradients(net._replace(image=padded))
    return {name: times * array for name, array in found.items()}


def edge_again(net, right, own_shares=False):
    """As `gradients`, if threads beyond the picture compute the nearest pixel of it again.

    own_shares: whether they hand its gradients to the corners by the shares of their own place.
    """
    height, width, _ = net.image.shape
    rows, columns = (
        np.minimum(np.arange(size + -size % CELL), size - 1) for size in (height, width)
    )
    times = np.outer(np.bincount(rows), np.bincount(columns))[:, :, np.newaxis]
    activations = reference.forward(net.grid, net.weights, height, width)
    found = np.zeros(WEIGHTS_SHAPE)
    for layer, delta in enumerate(right["deltas"]):
        found[layer, :UNITS] = np.einsum("yxk, yxu -> ku", activations[layer], times * delta)
        found[layer, UNITS] = (times * delta).sum(axis=(0, 1))
    shape, features = net.grid.shape, right["features"]
    handed_on = reference.scatter(times * features, shape)
    return {
        "grad_weights": found,
        "grad_grid": scattered_beyond(features, shape) if own_shares else handed_on,
        "loss_sum": np.array([np.sum(times * (painted(net) - net.image) ** 2) / net.image.size]),
    }


def painted(net):
    return reference.paint(net.grid, net.weights, *net.image.shape[:2])


def losses_without_ones(net, right):
    """code -> (loss, sentence), if the other row of its sum holds something else than ones.

    What a row of inputs or deltas holds at the end is left from layer 0, or is there for the
    corners.
    """
    height, width, _ = net.image.shape
    squares = np.mean((painted(net) - net.image) ** 2, axis=2) / (height * width)
    rows = rows_at_the_end(net, right)
    whose = {
        "delta": "deltas still has those of layer 0 there",
        "gradient": "deltas has the gradients of the features there",
        "feature": "inputs still has those of layer 0, the features, there",
        "share": "inputs has the shares of the corners there",
    }
    losses = {name: np.sum(squares * row) for name, row in rows.items()}
    # What is next to nothing looks like a loss that nobody has added.
    told = {name: loss for name, loss in losses.items() if abs(loss) > 1e-4 * np.sum(squares)}
    found = {}
    for name, loss in told.items():
        alike = [other for other in told if np.isclose(told[other], loss, 1e-3)]
        kinds = {other.split()[0] for other in alike}
        why = whose[name.split()[0]] if len(kinds) == 1 else "the other holds something else"
        code = f"loss with {name}" if len(kinds) == 1 else f"loss with {' or '.join(alike)}"
        found[code] = (
            loss,
            "The squared errors are multiplied by something: sum_over_pixels takes the products of "
            f"two rows, and {why}. The loss needs a row of ones beside its own.",
        )
    return found


def rows_at_the_end(net, right):
    """name -> (H, W): what a row of inputs or deltas holds when the loss is summed."""
    height, width, _ = net.image.shape
    features = reference.encode(net.grid.astype(np.float64), height, width)
    shares = reference.corners(height, width)[1].reshape(height, width, 4)
    named = {"delta": right["deltas"][0], "gradient": right["features"]}
    named |= {"feature": features, "share": shares}
    return {
        f"{name} {number}": numbers[:, :, number]
        for name, numbers in named.items()
        for number in range(numbers.shape[2])
    }


def losses_overwritten(net, right):
    """code -> (loss, sentence), if the squared errors are gone before they are summed."""
    height, width, _ = net.image.shape
    threads = -(-height // CELL) * -(-width // CELL) * CELL**2
    held = {
        "delta": "deltas of layer 0",
        "gradient": "gradients of a feature",
        "feature": "inputs of layer 0",
        "share": "shares of a corner",
    }
    sums = {
        name: (row.sum(), held[name.split()[0]])
        for name, row in rows_at_the_end(net, right).items()
    }
    sums["ones"] = threads, "ones, which are the inputs of the biases"
    return {
        f"loss is a sum, {name}": (
            total / net.image.size,
            f"The loss is a sum of {what}: are the squared errors overwritten by these before they "
            "are summed? backward_layer stores rows of inputs and of deltas for each layer anew. "
            "Keep the sum of a pixel's squares in a variable, and store it behind the last "
            "backward_layer.",
        )
        for name, (total, what) in sums.items()
    }


def told_together(losses):
    """The same, code -> (factor, sentence), where equal factors have the sentences of all."""
    return {
        code: (
            factor,
            " Or: ".join(told for other, told in losses.values() if np.isclose(other, factor)),
        )
        for code, (factor, _) in losses.items()
    }


def wrong_losses(net):
    """code -> (what the loss is multiplied by, sentence)."""
    error = painted(net) - net.image
    rows, columns = (-(-size // CELL) for size in error.shape[:2])
    squares = error**2
    last = squares[(rows - 1) * CELL :, (columns - 1) * CELL :]
    return {
        "loss of the first block": (
            squares[:CELL, :CELL].sum() / squares.sum(),
            "Only the first block has added its loss: each adds that of its own pixels.",
        ),
        "loss of the last block": (
            last.sum() / squares.sum(),
            "Only the last block's loss is there: each adds that of its own pixels, atomically.",
        ),
        "loss divided by the block": (
            error.size / (3 * CELL * CELL),
            "The loss is the mean over the picture, not over a block's 256 pixels: divide by "
            "3 H W.",
        ),
        "loss divided by the threads": (
            error.size / (3 * rows * columns * CELL * CELL),
            "The loss is the mean over the pixels, not over all threads: divide by 3 H W.",
        ),
        "loss not divided": (error.size, "The loss is the sum: divide by 3 H W."),
        "loss of the colours": (
            error.size / 3,
            "Divide the loss by 3 H W: the mean goes over all pixels, too.",
        ),
        "loss of the pixels": (3.0, "Divide the loss by 3 H W: the mean goes over the colours."),
        "loss of one side": (len(error), "Divide the loss by both sides of the picture: 3 H W."),
        "loss divided twice": (1 / error.size, "The loss is divided by 3 H W twice."),
        **{
            f"loss added by {threads}": (
                threads,
                f"{threads} threads of each block add its loss: one of them is enough.",
            )
            for threads in (CELL * CELL, PER_CELL, 32, CELL)
        },
        "absolute error": (
            np.abs(error).sum() / (error**2).sum(),
            "This is the mean of the errors' sizes: square them.",
        ),
        "error not squared": (
            error.sum() / (error**2).sum(),
            "This is the mean of the errors: square them.",
        ),
        "twice the loss": (2.0, "This is twice the mean: the factor 2 belongs to the derivative."),
        "half of the loss": (0.5, "This is half of the mean: there is no factor 1/2 in our loss."),
        "no loss": (0.0, "Nothing was added to loss_sum."),
    }


def expect_gradients(case, net, arrays, names=("loss_sum", "grad_weights", "grad_grid")):
    """Compare what was added to `arrays`."""
    right = gradients(net)
    every = [
        Left(
            name, arrays[name].array - ALREADY, right[name],
            case.check.tolerance * np.abs(right[name]).max() + 1e-9,
        )
        for name in arrays
    ]  # fmt: skip
    left = [array for array in every if array.name in names]
    others = [array for array in every if array.name not in names]

    @functools.cache
    def mistakes():
        known = known_mistakes(net, right)
        if "grad_weights" in names:
            added = next(array.got for array in left if array.name == "grad_weights")
            known |= biases_of_one_pixel(net, right, added)
            known |= weights_of_other_owners(net, right["grad_weights"], added)
        if "loss_sum" in names:
            added = next(array.got for array in left if array.name == "loss_sum")
            known = without_other_small_losses(known, added)
        return possible(case, known, others)

    expect_all(case, left, mistakes)


def without_other_small_losses(known, added):
    """Without the losses that are next to nothing, as this one is, and still clearly another."""

    def may_be(code, mistake):
        loss = mistake.arrays.get("loss_sum")
        of_rows = code.startswith(("loss with ", "loss is a sum"))
        return not of_rows or np.allclose(added, loss, rtol=1e-3, atol=1e-7)

    return {code: mistake for code, mistake in known.items() if may_be(code, mistake)}


def possible(case, known, others):
    """Without the mistakes that would show in other arrays of the run, which are right.

    Whose turn comes later may be right by now, and then it tells what is not wrong.
    """
    kept = dict(known)
    for array in others:
        if not same(array.got, array.expected, array.tolerance):
            continue
        for code, mistake in known.items():
            result = mistake.arrays.get(array.name)
            if result is not None and is_clearly_different(
                np.asarray(result), array.expected, array.tolerance
            ):
                kept.pop(code, None)
    return kept


def weights_of_other_owners(net, right, added):
    """code -> `Mistake`, if sums of a single block have no owner, or several."""
    if net.image.shape[:2] != (CELL, CELL):
        return {}
    own = [np.s_[layer, :, : units_of(layer)] for layer in range(LAYERS)]
    told = other_owners([(right[part].ravel(), added[part].ravel()) for part in own], CELL, CELL)
    if not told:
        return {}
    found = right.copy()
    for part, sums in zip(own, told[0], strict=True):
        found[part] = sums.reshape(right[part].shape)
    return {"other owners": Mistake(told[1], {"grad_weights": found})}


def biases_of_one_pixel(net, right, added):
    """code -> `Mistake`, if the gradient of each bias is the delta of one pixel alone."""
    if net.image.shape[:2] != (CELL, CELL):
        return {}
    found = right["grad_weights"].copy()
    for layer, delta in enumerate(right["deltas"]):
        units = units_of(layer)
        of_pixels = delta.reshape(-1, UNITS)[:, :units]
        nearest = np.abs(of_pixels - added[layer, UNITS, :units]).argmin(axis=0)
        found[layer, UNITS, :units] = of_pixels[nearest, np.arange(units)]
    sentence = (
        "The gradient of a bias is the delta of one pixel alone: it is the sum over all 256 pixels "
        "of the block, as that of a weight whose input is 1."
    )
    return {"bias of one pixel": Mistake(sentence, {"grad_weights": found})}
