"""Paint `lake.png`, the picture this course learns: a lake in late light, in NumPy alone.

    python images/paint_lake.py [--out PATH]

A painter works from far to near, and so does this program: sky, hills, far shore, water (which
mirrors what is already there), the near bank, two chairs, and the leaves that hang into the frame.
Three kinds of brush do all of it:

* noise: smooth random landscapes of any scale, for clouds, ridges and ripples;
* dabs: thousands of small ellipses, each with a colour of its own, for leaves, needles and grass;
* boards: boxes in three dimensions, seen through one camera and lit by one sun, for what is built.

Everything is drawn on a canvas of twice the size in linear light and averaged down at the end, so
edges are smooth. All randomness is seeded: the picture has the same bytes every time.
"""

import argparse
import os
from pathlib import Path

import numpy as np
from PIL import Image

WIDTH, HEIGHT = 800, 550
SAMPLES = 2  # canvas samples along each side of a pixel
HORIZON = 236.0  # in pixels from the top, as all lengths unless said otherwise
FAR_SHORE = 245.0
FOCAL = 700.0  # the camera's focal length, in pixels
EYE = 1.7  # the camera's height above the bank, in metres
WATER_LEVEL = -0.45  # metres
TO_SUN = np.array([-0.74, 0.52, -0.42])  # right, up, away from the viewer
TO_SUN = TO_SUN / np.linalg.norm(TO_SUN)
SUNLIGHT = np.array([1.30, 1.02, 0.68])
SKYLIGHT = np.array([0.26, 0.33, 0.46])


# ---------------------------------------------------------------- tools


def ink(code):
    """A colour as painters' software writes it (sRGB, "#rrggbb"), in linear light."""
    values = np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return values**2.2


def mix(a, b, t):
    return a + (b - a) * t


def smoothstep(low, high, x):
    t = np.clip((x - low) / (high - low), 0, 1)
    return t * t * (3 - 2 * t)


def random_for(seed):
    return np.random.Generator(np.random.PCG64(seed))


def noise(x, y, seed):
    """Gradient noise, about -1 to 1, with features of size 1 (Perlin, 2002)."""
    angles = random_for(seed).random(1 << 16) * 2 * np.pi
    x, y = np.broadcast_arrays(x, y)
    x0, y0 = np.floor(x), np.floor(y)
    x_fraction, y_fraction = x - x0, y - y0
    column, row = x0.astype(np.int64), y0.astype(np.int64)

    def corner(dx, dy):
        angle = angles[((row + dy & 255) << 8) | (column + dx & 255)]
        return np.cos(angle) * (x_fraction - dx) + np.sin(angle) * (y_fraction - dy)

    s, t = (f * f * f * (f * (f * 6 - 15) + 10) for f in (x_fraction, y_fraction))
    return 1.5 * mix(mix(corner(0, 0), corner(1, 0), s), mix(corner(0, 1), corner(1, 1), s), t)


def fractal(x, y, octaves, seed, gain=0.5):
    """Noise on ever smaller scales, added up: coastlines, clouds, crowds of anything."""
    total, weight, weights = 0, 1.0, 0.0
    for octave in range(octaves):
        total = total + weight * noise(x, y, seed + octave)
        weights += weight
        weight *= gain
        # Turning by 37 degrees while doubling keeps the lattices from lining up.
        x, y = 1.6 * x - 1.2 * y + 17.3, 1.2 * x + 1.6 * y - 9.1
    return total / weights


def positions(top, bottom):
    """Pixel coordinates of all canvas samples in rows top ... bottom: x (1, W), y (H, 1)."""
    x = (np.arange(WIDTH * SAMPLES) + 0.5) / SAMPLES
    y = (np.arange(int(top * SAMPLES), int(bottom * SAMPLES)) + 0.5) / SAMPLES
    return x[None, :], y[:, None]


def put(canvas, columns, rows, seen, colour):
    """Colour those samples of the canvas that are seen, and lie on it."""
    seen = seen & (columns >= 0) & (columns < canvas.shape[1])
    seen &= (rows >= 0) & (rows < canvas.shape[0])
    canvas[rows[seen], columns[seen]] = colour[seen]


def dabs(canvas, x, y, length, width, angle, colour):
    """Ellipses, later ones over earlier ones; one half of each is lit, like a leaf along its rib.

    x, y, length, width (radii), angle: (n,); colour: (n, 3) linear.
    """
    order = 400  # few enough that overlapping dabs keep their order, nearly
    for begin in range(0, len(x), order):
        part = slice(begin, begin + order)
        a, b = length[part] * SAMPLES, np.maximum(width[part] * SAMPLES, 0.55)
        cos, sin = np.cos(angle[part]), np.sin(angle[part])
        column, row = np.rint(x[part] * SAMPLES), np.rint(y[part] * SAMPLES)
        reach = int(np.ceil(a.max()))
        for dy in range(-reach, reach + 1):
            for dx in range(-reach, reach + 1):
                along, across = dx * cos + dy * sin, dy * cos - dx * sin
                xs, ys = (column + dx).astype(int), (row + dy).astype(int)
                inside = (along / a) ** 2 + np.abs(across / b) ** 1.4 <= 1  # pointed, like a leaf
                shade = np.where(across < 0, 1.12, 0.88)[:, None]
                put(canvas, xs, ys, inside, colour[part] * shade)


def blades(canvas, x, y, length, lean, width, colour, tip):
    """Grass: curved strokes from the root (x, y) upward, brighter toward the tip."""
    order = 300
    for begin in range(0, len(x), order):
        part = slice(begin, begin + order)
        steps = int(length[part].max() * SAMPLES) + 2
        for t in np.linspace(0, 1, steps):
            px = (x[part] + lean[part] * t * t) * SAMPLES
            py = (y[part] - length[part] * t * (1 - 0.25 * np.abs(t))) * SAMPLES
            shade = mix(colour[part], tip[part], t**1.5)
            for side in range(int(np.ceil(width[part].max() * SAMPLES))):
                thick = side < width[part] * SAMPLES * (1 - t)
                thick |= side == 0
                put(canvas, (px + side).astype(int), py.astype(int), thick, shade)


def blur(image, radius, passes=3):
    """Box averages, three of them nearly a Gaussian; radius in canvas samples."""
    for axis in (0, 1):
        for _ in range(passes):
            pad = [(radius + 1, radius) if i == axis else (0, 0) for i in range(image.ndim)]
            sums = np.cumsum(np.pad(image, pad, mode="edge"), axis)
            size = image.shape[axis]
            high = np.take(sums, range(2 * radius + 1, 2 * radius + 1 + size), axis)
            image = (high - np.take(sums, range(size), axis)) / (2 * radius + 1)
    return image


# ---------------------------------------------------------------- sky


# Where the clouds stand: centre x, base y, half width, height.
CLOUDS = (
    (120, 158, 165, 112),
    (395, 176, 120, 62),
    (640, 140, 190, 96),
    (300, 88, 90, 26),
    (520, 205, 150, 24),
    (60, 208, 120, 22),
    (760, 204, 110, 20),
)


def paint_sky(canvas):
    x, y = positions(0, FAR_SHORE)
    stops = (0, 90, 170, 215, 245)
    colours = np.stack([ink(c) for c in ("#3d6ea8", "#6c9cca", "#a8c6da", "#ecd9b8", "#f6d3a0")])
    gradient = np.stack([np.interp(y[:, 0], stops, colours[:, c]) for c in range(3)], axis=1)
    sky = np.repeat(gradient[:, None], x.size, axis=1)
    glow = np.exp(-(((x + 30) / 380) ** 2)) * np.exp(-(((y - 228) / 90) ** 2))
    sky += glow[..., None] * np.array([0.34, 0.19, 0.04])

    veil = fractal(x / 210 + y / 150, y / 40 - x / 190, 6, 21, 0.6)
    veil = smoothstep(0.0, 0.75, veil) * smoothstep(225, 20, y) * 0.55
    sky = mix(sky, ink("#fdf3e6"), veil[..., None])

    density = cloud_density(x, y)
    cover = smoothstep(0.0, 0.16, density)
    light = sun_through(density)
    shade = mix(ink("#6f7f9f"), ink("#b3a2a6"), smoothstep(90, 215, y)[..., None])
    lit = mix(ink("#fff6e8"), ink("#ffdcae"), smoothstep(60, 215, y)[..., None]) * 1.08
    cloud = mix(shade, lit, light[..., None])
    cloud = mix(cloud, sky, (0.6 * smoothstep(110, 235, y))[..., None])  # haze
    canvas[: sky.shape[0]] = mix(sky, cloud, (cover * 0.97)[..., None])


def cloud_density(x, y):
    """Heaps with a flat base and a boiling top: ellipses, eaten into by noise."""
    heap = np.full(np.broadcast(x, y).shape, -2.0)
    for centre, base, half_width, height in CLOUDS:
        above = (base - y) / height
        below = (y - base) / (0.14 * height)
        vertical = np.where(above > 0, above, below)
        heap = np.maximum(heap, 1 - ((x - centre) / half_width) ** 2 - vertical**2)
    warp_x = fractal(x / 60, y / 60, 4, 41)
    warp_y = fractal(x / 60 + 31, y / 60 + 17, 4, 45)
    boil = fractal(x / 46 + 0.55 * warp_x, y / 40 + 0.55 * warp_y, 5, 51, 0.52)
    puffs = 1 - np.abs(fractal(x / 30 + 0.5 * warp_y, y / 27 + 0.5 * warp_x, 5, 61, 0.55)) * 2.4
    heap = np.where(heap > 0, 0.75 * heap, 1.5 * heap)  # nothing drifts far from its heap
    return heap + 0.95 * boil + 0.38 * puffs - 0.24


def sun_through(density):
    """How much sun reaches each point: what lies between it and the sun, up and to the left."""
    matter = np.clip(density, 0, 1.2)
    depth = np.zeros_like(density)
    for step in (2, 5, 10, 18, 30, 46):
        depth += np.roll(matter, (int(0.75 * step), step), axis=(0, 1)) * (0.5 + step / 40)
    rim = density - np.roll(density, (5, 7), axis=(0, 1))
    return np.clip(1.02 * np.exp(-0.62 * np.clip(depth - 0.9, 0, None)) + 0.5 * rim + 0.08, 0, 1)


# ---------------------------------------------------------------- hills and far shore


# Ridges, far to near: height of the base line, roughness, width of a hill, colours, seed.
RIDGES = (
    (216, 44, 210, "#8fa5bd", "#9fb0c0", 71),
    (226, 30, 150, "#6d8a9c", "#8b9f9f", 81),
    (235, 24, 110, "#4f6f6a", "#7f8f68", 91),
)


def paint_hills(canvas):
    x, y = positions(120, FAR_SHORE)
    view = canvas[120 * SAMPLES : int(FAR_SHORE * SAMPLES)]
    for base, rise, width, shadow, lit, seed in RIDGES:
        crest = base - rise * (0.35 + fractal(x / width, np.zeros_like(x), 4, seed))
        crest = crest - 1.6 * np.abs(fractal(x / 3.1, np.zeros_like(x), 3, seed + 5))  # tree tops
        slope = fractal(x / 34, y / 18, 4, seed + 10)
        forest = fractal(x / 2.6, y / 3.4, 3, seed + 20)
        light = np.clip(0.5 + 0.55 * slope + 0.75 * forest, 0, 1)
        colour = mix(ink(shadow), ink(lit), light[..., None])
        mist = smoothstep(crest, crest + 55, y) * 0.45
        colour = mix(colour, ink("#e8d3b4"), mist[..., None])
        inside = smoothstep(crest - 0.4, crest + 0.4, y)
        view[:] = mix(view, colour, inside[..., None])


def paint_far_shore(canvas):
    """A belt of single trees, the far and small ones first."""
    random = random_for(101)
    count = 210
    centre = random.uniform(-10, WIDTH + 10, count)
    # Taller toward both edges, low in the middle: the eye is led down the lake.
    edge = np.abs(centre / WIDTH - 0.46) * 2
    height = random.uniform(14, 26, count) + 34 * edge**1.6 * random.uniform(0.3, 1.3, count)
    height[::9] *= 1.45  # old pines stand above the rest
    root = FAR_SHORE - random.uniform(-0.5, 3.0, count)
    for i in np.argsort(-root + height * 0.15)[::-1]:
        distance_haze = np.clip(0.34 - height[i] / 130, 0.04, 0.34)
        draw = conifer if i % 9 == 0 or random.random() < 0.6 else broadleaf
        draw(canvas, random, centre[i], root[i], height[i], distance_haze)
    paint_shoreline(canvas, random)


def conifer(canvas, random, centre, root, height, haze):
    n = int(30 + height * 4)
    t = np.sort(random.random(n) ** 0.7)  # 0 at the top, 1 at the root
    side = random.uniform(-1, 1, n)
    tiers = 0.62 + 0.38 * ((t * height / 8) % 1)
    x = centre + side * 0.21 * height * t**0.85 * tiers
    y = root - height * (1 - t) * 0.98 + np.abs(side) * 0.05 * height
    light = np.clip(0.36 - 0.8 * side + random.normal(0, 0.10, n), 0, 1.3)
    base = mix(ink("#0d2420"), ink("#1b3422"), random.random())
    colour = mix(base, mix(ink("#6f8c40"), ink("#b3b055"), random.random()), light[:, None])
    colour = mix(colour, ink("#cdbfa6"), haze)
    angle = side * 0.7
    dabs(canvas, x, y, np.full(n, 2.6), np.full(n, 1.4), angle, colour)


def broadleaf(canvas, random, centre, root, height, haze):
    clumps = int(5 + height / 5)
    n = clumps * int(8 + height * 0.3)
    clump_x, clump_y = random.uniform(-1, 1, (2, clumps))
    clump_y *= np.sqrt(1 - 0.6 * clump_x**2)
    owner = np.sort(random.integers(0, clumps, n))
    angle, radius = random.uniform(0, 2 * np.pi, n), np.sqrt(random.random(n))
    dx, dy = np.cos(angle) * radius, np.sin(angle) * radius
    x = centre + 0.30 * height * (clump_x[owner] + 0.42 * dx)
    y = root - 0.58 * height + 0.36 * height * (clump_y[owner] + 0.42 * dy)
    light = 0.40 - 0.34 * (dx + clump_x[owner] * 0.5) - 0.42 * (dy + 0.4 * clump_y[owner])
    light = np.clip(light + random.normal(0, 0.10, n), 0, 1.35)
    autumn = random.random() ** 2.2
    dark = mix(ink("#162c1a"), ink("#3d2810"), autumn)
    bright = mix(ink("#a0b850"), ink("#f2b044"), autumn)
    colour = mix(mix(dark, bright, light[:, None]), ink("#cdbfa6"), haze)
    dabs(canvas, x, y, np.full(n, 2.6), np.full(n, 1.9), angle, colour)


def paint_shoreline(canvas, random):
    """Pale stones and reeds where the far shore meets the water."""
    n = 2600
    x = random.uniform(0, WIDTH, n)
    y = FAR_SHORE + random.normal(-0.3, 0.8, n)
    tint = random.random(n)[:, None]
    colour = mix(ink("#4c4b33"), ink("#d9c49a"), tint**1.5)
    dabs(canvas, x, y, random.uniform(0.6, 1.8, n), np.full(n, 0.5), np.zeros(n), colour)


# ---------------------------------------------------------------- water


def ripples_at(x, y):
    """How far the water's surface is tilted toward the viewer, and where gusts roughen it."""
    below = y - HORIZON
    depth = 600 / below  # grows with distance, as on any plane seen from above it
    across = (x - WIDTH / 2) * depth / 60
    waves = fractal(across * 0.55, depth * 1.5, 3, 121, 0.55)
    swell = fractal(across * 0.22 + 9, depth * 0.8, 3, 131, 0.5)
    gust = smoothstep(-0.28, 0.30, fractal(across * 0.10 + 3, depth * 0.32, 3, 141))
    return (0.45 + 1.15 * gust) * (1.05 * waves + 0.45 * swell), gust


def paint_water(canvas):
    """A mirror, tilted here and there by ripples that grow toward the viewer."""
    x, y = positions(FAR_SHORE, HEIGHT)
    below = y - HORIZON
    tilt, gust = ripples_at(x, y)
    source_y = 2 * FAR_SHORE - y - np.abs(tilt) * (8 + below * 0.42) - tilt * (2 + below * 0.16)
    source_x = x + tilt * (1.0 + below * 0.06)
    rows = np.clip(source_y * SAMPLES, 0, FAR_SHORE * SAMPLES - 1).astype(int)
    columns = np.clip(source_x * SAMPLES, 0, WIDTH * SAMPLES - 1).astype(int)
    reflected = canvas[rows, columns]

    # Looking down more steeply, less sky comes back and more of the deep shows.
    steep = np.clip(smoothstep(0, 330, below) * 0.72 + 0.75 * np.clip(tilt, -0.6, 1), 0.04, 0.92)
    deep = mix(ink("#24495c"), ink("#16323a"), smoothstep(60, 300, below)[..., None])
    colour = mix(reflected * np.array([0.90, 0.94, 0.97]), deep, steep[..., None])

    depth = 600 / below
    across = (x - WIDTH / 2) * depth / 60
    sparkle = fractal(across * 2.3, depth * 6.5, 3, 151, 0.7)
    path = np.exp(-(((x - 250) / 210) ** 2))
    glint = smoothstep(0.36, 0.58, sparkle + 0.25 * tilt) * (0.3 + path) * gust
    colour += glint[..., None] * SUNLIGHT * 0.6
    canvas[int(FAR_SHORE * SAMPLES) :] = colour


def reflect_boards(canvas, boards):
    """What stands in the water, upside down below it and broken up by the ripples."""
    top = 300
    mirrored = canvas.copy()
    draw_boards(mirrored, boards.mirrored(WATER_LEVEL), dim=0.42)
    x, y = positions(top, HEIGHT)
    tilt, _ = ripples_at(x, y)
    reach = 4 + 0.05 * (y - HORIZON)
    rows = np.clip((y + tilt * reach) * SAMPLES, 0, HEIGHT * SAMPLES - 1).astype(int)
    columns = np.clip((x + 0.7 * tilt * reach) * SAMPLES, 0, WIDTH * SAMPLES - 1).astype(int)
    changed = (mirrored != canvas).any(axis=2)[rows, columns]
    view = canvas[top * SAMPLES :]
    view[changed] = mix(view[changed], mirrored[rows, columns][changed], 0.78)


# ---------------------------------------------------------------- boards: what is built


class Boards:
    """Flat-faced things in metres: x to the right, y up, z away from the viewer."""

    def __init__(self):
        self.faces = []  # (corners (n, 3), colour (3,), grain direction (3,))

    def box(self, centre, half, axes, colour):
        """A board: half = half lengths along the three orthogonal unit `axes` (rows)."""
        centre, axes = np.asarray(centre, float), np.asarray(axes, float)
        grain = axes[int(np.argmax(half))]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            for sign in (-1, 1):
                middle = centre + sign * half[i] * axes[i]
                u, v = half[j] * axes[j], half[k] * axes[k]
                corners = [middle + u + v, middle + u - v, middle - u - v, middle - u + v]
                self.faces.append((np.array(corners), colour, grain))

    def plank(self, begin, end, width, thickness, colour, up=(0, 1, 0)):
        """A board from one point to another, its thin side toward `up`."""
        begin, end = np.asarray(begin, float), np.asarray(end, float)
        along = (end - begin) / np.linalg.norm(end - begin)
        side = np.cross(along, up)
        side /= np.linalg.norm(side)
        half = (np.linalg.norm(end - begin) / 2, width / 2, thickness / 2)
        self.box((begin + end) / 2, half, (along, side, np.cross(side, along)), colour)

    def moved(self, turn, offset):
        """The same things turned about the upright axis and set down elsewhere."""
        cos, sin = np.cos(turn), np.sin(turn)
        return self.placed(np.array([[cos, 0, sin], [0, 1, 0], [-sin, 0, cos]]), offset)

    def mirrored(self, level):
        return self.placed(np.diag([1.0, -1.0, 1.0]), (0, 2 * level, 0))

    def placed(self, matrix, offset):
        copy = Boards()
        copy.faces = [
            (corners @ matrix.T + offset, colour, matrix @ grain)
            for corners, colour, grain in self.faces
        ]
        return copy


def project(points):
    """Where points (n, 3) in metres appear, in canvas samples."""
    scale = FOCAL / points[:, 2]
    x = WIDTH / 2 + points[:, 0] * scale
    y = HORIZON + (EYE - points[:, 1]) * scale
    return np.stack([x, y], axis=1) * SAMPLES


def polygon_mask(corners, shape):
    """(slice, slice, mask) of the canvas samples inside a convex polygon (n, 2)."""
    low = np.clip(np.floor(corners.min(0)).astype(int), 0, (shape[1], shape[0]))
    high = np.clip(np.ceil(corners.max(0)).astype(int) + 1, 0, (shape[1], shape[0]))
    x, y = np.arange(low[0], high[0])[None, :] + 0.5, np.arange(low[1], high[1])[:, None] + 0.5
    edges = np.roll(corners, -1, axis=0) - corners
    sides = [e[0] * (y - c[1]) - e[1] * (x - c[0]) for c, e in zip(corners, edges, strict=True)]
    if not sides or x.size == 0 or y.size == 0:
        return None
    mask = np.all([s >= 0 for s in sides], axis=0) | np.all([s <= 0 for s in sides], axis=0)
    return slice(low[1], high[1]), slice(low[0], high[0]), mask


def draw_boards(canvas, boards, dim=1.0):
    """All faces, hidden ones hidden (a depth buffer), lit by sun and sky, with a grain of wood."""
    nearest = np.full(canvas.shape[:2], np.inf)
    for number, (corners, colour, grain) in enumerate(boards.faces):
        found = polygon_mask(project(corners), canvas.shape)
        if found is None:
            continue
        rows, columns, mask = found
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        normal = normal / np.linalg.norm(normal)
        if normal @ corners[0] - normal[1] * EYE > 0:
            normal = -normal  # toward the camera, which sits at (0, EYE, 0)
        x = (np.arange(columns.start, columns.stop) + 0.5)[None, :] / SAMPLES
        y = (np.arange(rows.start, rows.stop) + 0.5)[:, None] / SAMPLES
        ray = np.stack(np.broadcast_arrays((x - WIDTH / 2) / FOCAL, (HORIZON - y) / FOCAL, 1.0), -1)
        facing = ray @ normal
        facing = np.where(np.abs(facing) < 1e-6, -1e-6, facing)
        distance = (normal @ corners[0] - normal[1] * EYE) / facing
        visible = mask & (distance > 0) & (distance < nearest[rows, columns])
        point = ray * distance[..., None] + [0, EYE, 0]
        along = point @ grain
        across = point @ np.cross(grain, normal)
        streaks = fractal(along * 5 + number * 7.1, across * 110, 3, 161)
        light = SKYLIGHT * (0.75 + 0.45 * normal[1]) + SUNLIGHT * max(0.0, normal @ TO_SUN)
        shade = colour * light * (1 + 0.30 * streaks[..., None]) * dim
        shade = shade * (0.92 + 0.16 * ((number * 0.618) % 1))  # no two boards weather alike
        canvas[rows, columns][visible] = shade[visible]
        nearest[rows, columns][visible] = distance[visible]


def cast_shadows(canvas, boards, level):
    """Darken the ground where the boards stand between it and the sun."""
    shadow = np.zeros(canvas.shape[:2])
    for corners, _, _ in boards.faces:
        height = corners[:, 1:2] - level
        landed = corners - TO_SUN * height / TO_SUN[1]
        found = polygon_mask(project(landed), canvas.shape)
        if found is not None:
            rows, columns, mask = found
            shadow[rows, columns][mask] = 1
    shadow = blur(shadow, 3)[..., None]
    canvas *= 1 - shadow * (1 - np.array([0.30, 0.36, 0.46]))


def adirondack_chair(colour):
    """The chair of the north woods: a fan of slats for a back, a sloping seat, arms like tables.

    Seen from its own side: it faces +z (the lake), its seat slopes down toward the back (-z).
    """
    chair = Boards()
    # Two runners carry the seat: from the front legs down to the ground behind.
    for side in (-0.24, 0.24):
        chair.plank((side, 0.40, 0.36), (side, 0.03, -0.52), 0.030, 0.11, colour)
    for i in range(6):  # seat slats, front to back
        t = i / 5
        y, z = 0.435 - 0.185 * t, 0.36 - 0.47 * t
        chair.plank((-0.28, y, z), (0.28, y, z), 0.082, 0.022, colour, up=(0, 1, 0.35))
    # The back leans away from the lake; its slats spread like a hand, the middle one longest.
    slats = 7
    for i in range(slats):
        spread = (i - (slats - 1) / 2) / ((slats - 1) / 2)  # -1 ... 1
        length = 0.86 - 0.16 * spread**2
        begin = np.array([0.20 * spread, 0.24, -0.12])
        end = begin + np.array([0.16 * spread * length, 0.94 * length, -0.40 * length])
        chair.plank(begin, end, 0.082, 0.020, colour, up=(0, 0.40, 0.94))
        top = end + (end - begin) / np.linalg.norm(end - begin) * 0.012
        chair.plank(end, top, 0.054, 0.020, colour, up=(0, 0.40, 0.94))
    for height, half in ((0.36, 0.27), (0.70, 0.33)):  # two battens hold the slats together
        z = -0.12 - (height - 0.24) * 0.426 - 0.035
        chair.plank((-half, height, z), (half, height, z), 0.06, 0.026, colour, up=(0, 0.40, 0.94))
    for side in (-1, 1):
        chair.plank(
            (0.35 * side, 0.0, 0.30), (0.35 * side, 0.585, 0.30), 0.035, 0.10, colour, up=(0, 0, 1)
        )
        chair.plank((0.37 * side, 0.60, 0.44), (0.35 * side, 0.60, -0.36), 0.145, 0.024, colour)
        chair.plank((0.33 * side, 0.42, 0.30), (0.35 * side, 0.585, 0.12), 0.03, 0.03, colour)
    return chair


def dock():
    """A few planks on posts, out into the water on the left."""
    planks = Boards()
    wood = ink("#a08a6c")
    for i in range(22):
        z = 6.4 + i * 0.19
        planks.plank((-3.35, -0.17, z), (-2.35, -0.17, z), 0.165, 0.035, wood)
    for side in (-3.28, -2.42):
        planks.plank((side, -0.25, 6.3), (side, -0.25, 10.5), 0.05, 0.12, wood * 0.8)
        for z in (6.9, 8.6, 10.3):
            planks.plank(
                (side, WATER_LEVEL, z), (side, 0.16, z), 0.11, 0.11, wood * 0.75, up=(0, 0, 1)
            )
    return planks


# ---------------------------------------------------------------- the near bank


def bank_edge(x):
    """The y at which the near bank begins, for each x: low on the left, high on the right."""
    rough = fractal(x / 46, np.zeros_like(x), 4, 171) * 9
    return 534 - 140 * smoothstep(120, 560, x) - 12 * smoothstep(560, 800, x) + rough


def paint_bank(canvas):
    x, y = positions(360, HEIGHT)
    view = canvas[360 * SAMPLES :]
    edge = bank_edge(x)
    inland = y - edge
    patches = fractal(x / 60, y / 26, 4, 181)
    soil = fractal(x / 16, y / 8, 3, 191)
    green = mix(
        ink("#3c4f1e"), ink("#7d8434"), np.clip(0.5 + patches + 0.6 * soil, 0, 1)[..., None]
    )
    sand = mix(ink("#5d5038"), ink("#c9b186"), np.clip(0.5 + 1.2 * soil, 0, 1)[..., None])
    colour = mix(sand, green, smoothstep(3, 14, inland + 6 * patches)[..., None])
    wet = smoothstep(6, 0, inland)
    colour = colour * (1 - 0.55 * wet[..., None])
    # Just off the bank the water is shallow and mirrors the dark grass.
    dusk = smoothstep(-16, 0, inland) * 0.55
    view[:] = view * (1 - dusk[..., None] * np.array([0.8, 0.6, 0.7]))
    view[:] = mix(view, colour, smoothstep(-0.5, 0.5, inland)[..., None])
    paint_stones(canvas)


def paint_stones(canvas):
    """Boulders and pebbles along the water, lit from the upper left."""
    random = random_for(201)
    n = 260
    x = random.uniform(40, WIDTH, n)
    size = 1.4 + 7.5 * random.random(n) ** 3.5
    y = bank_edge(x) + random.normal(0, 3.0, n) + 0.3 * size
    for i in np.argsort(y):
        half = np.array([size[i] * random.uniform(1.1, 1.7), size[i]])
        u, v = np.meshgrid(
            np.linspace(-1, 1, int(4 * half[0]) + 3), np.linspace(-1, 1, int(4 * half[1]) + 3)
        )
        bump = fractal(u * 1.3 + i, v * 1.3, 3, 211)
        inside = u**2 + np.where(v > 0, 1.5 * v, v) ** 2 < 1 - 0.25 * bump
        light = np.clip(0.42 - 0.42 * u - 0.62 * v + 0.5 * bump, 0.05, 1.1)
        base = mix(ink("#6a6560"), ink("#a8937a"), random.random())
        colour = base * (SKYLIGHT * 0.9 + SUNLIGHT * light[..., None])
        rows = np.rint(y[i] * SAMPLES + v * half[1] * SAMPLES).astype(int)
        columns = np.rint(x[i] * SAMPLES + u * half[0] * SAMPLES).astype(int)
        put(canvas, columns, rows, inside, colour)


def paint_grass(canvas, near, far, seed, count):
    """Blades rooted between rows `far` and `near`, the far ones first."""
    random = random_for(seed)
    x = random.uniform(-10, WIDTH + 10, count)
    y = np.sort(random.uniform(far, near, count))
    rooted = y > bank_edge(x) + random.uniform(3, 10, count)
    x, y = x[rooted], y[rooted]
    n = len(x)
    nearness = (y - HORIZON) / (HEIGHT - HORIZON)
    length = (5 + 44 * nearness**1.6) * random.uniform(0.5, 1.3, n)
    lean = length * (0.25 + random.normal(0, 0.45, n))
    patch = np.clip(0.5 + fractal(x / 38, y / 17, 3, 221) + random.normal(0, 0.22, n), 0, 1)[
        :, None
    ]
    root = mix(ink("#16240a"), ink("#37430f"), patch)
    tip = mix(ink("#6d8a28"), ink("#e2d074"), patch**1.3) * random.choice((0.12, 0.8, 2.0), (n, 1))
    blades(canvas, x, y, length, lean, 1.0 + 3.6 * nearness**1.5, root, tip)


def paint_flowers(canvas):
    """Daisies, lupins and poppies, in drifts."""
    random = random_for(231)
    n = 700
    x, y = random.uniform(0, WIDTH, n), random.uniform(440, HEIGHT + 6, n)
    drift = fractal(x / 70, y / 34, 3, 241)
    kept = (drift > 0.10) & (y > bank_edge(x) + 10)
    x, y = x[kept], y[kept]
    order = np.argsort(y)
    x, y = x[order], y[order]
    kinds = (ink("#f6f1e4"), ink("#e9c23f"), ink("#8467b4"), ink("#d4543a"))
    for px, py in zip(x, y, strict=True):
        scale = (py - HORIZON) / (HEIGHT - HORIZON)
        kind = kinds[random.choice(4, p=(0.42, 0.22, 0.24, 0.12))]
        height, petals = 26 * scale * random.uniform(0.6, 1.3), 7
        angle = np.arange(petals) * 2 * np.pi / petals + random.random()
        radius = 4.6 * scale
        head = np.array([px + random.normal(0, 2), py - height])
        blades(canvas, np.array([px]), np.array([py]), np.array([height]), np.array([head[0] - px]),
               np.array([0.8]), ink("#2f4416")[None], ink("#6f8a35")[None])  # fmt: skip
        dabs(canvas, head[0] + radius * np.cos(angle), head[1] + 0.6 * radius * np.sin(angle),
             np.full(petals, 0.62 * radius), np.full(petals, 0.42 * radius), angle,
             kind * random.uniform(0.75, 1.05, (petals, 1)))  # fmt: skip
        dabs(canvas, head[:1], head[1:], np.array([0.5 * radius]), np.array([0.4 * radius]),
             np.zeros(1), ink("#c58a1e")[None])  # fmt: skip


# ---------------------------------------------------------------- leaves in the frame


def paint_reeds(canvas):
    """Tall reeds and cattails in the left corner, between the viewer and the water."""
    random = random_for(251)
    n = 330
    x = np.concatenate([random.normal(46, 46, n // 2), random.uniform(-20, 250, n - n // 2)])
    height = (66 + 120 * np.exp(-(((x - 20) / 80.0) ** 2))) * random.uniform(0.5, 1.15, n)
    order = np.argsort(random.random(n))
    x, height = x[order], height[order]
    lean = random.normal(9, 17, n)
    tint = random.random((n, 1))
    root, tip = mix(ink("#1c2a10"), ink("#3a4218"), tint), mix(ink("#7d8f36"), ink("#d9bd6a"), tint)
    blades(
        canvas,
        x,
        np.full(n, HEIGHT + 8.0),
        height,
        lean,
        random.uniform(1.6, 5.0, n),
        root,
        tip * random.choice((0.15, 1.0, 1.7), (n, 1)),
    )
    heads = np.flatnonzero(height > 95)[::4]
    at_x, at_y = x[heads] + lean[heads] * 0.9, HEIGHT + 8 - height[heads] * 0.74
    brown = mix(ink("#4a2c16"), ink("#8a5a2e"), random.random((len(heads), 1)))
    dabs(canvas, at_x, at_y, np.full(len(heads), 8.5), np.full(len(heads), 2.3),
         np.full(len(heads), 1.5), brown)  # fmt: skip


def paint_branches(canvas):
    """A maple reaches into the upper right corner; the sun shines through some of its leaves."""
    random = random_for(261)
    twigs, leaves = [], []
    for begin, angle, length, width in (
        ((812, 24), 3.02, 330, 7.0),
        ((815, 96), 2.80, 220, 5.5),
        ((770, -12), 2.45, 210, 4.5),
        ((640, -14), 2.60, 170, 3.5),
        ((812, 150), 2.70, 120, 4.0),
        ((-12, 30), 0.12, 250, 6.0),
        ((-12, 96), 0.25, 120, 4.0),
    ):
        grow(random, np.array(begin, float), angle, length, width, 0, twigs, leaves)
    for x, y, width in twigs:
        n = len(x)
        colour = mix(ink("#2a1e16"), ink("#5e4630"), random.random((n, 1)))
        dabs(canvas, x, y, width, width, np.zeros(n), colour)
    leaves = np.concatenate(leaves)
    leaves = leaves[np.argsort(random.random(len(leaves)))]
    n = len(leaves)
    depth = np.sort(random.random(n))[:, None]  # the first drawn are the farthest, in shade
    warm = np.clip(fractal(leaves[:, 0] / 50, leaves[:, 1] / 50, 3, 271) * 1.2 + 0.45, 0, 1)[
        :, None
    ]
    shade = mix(ink("#12200c"), ink("#341f0a"), warm)
    lit = mix(ink("#a9cc46"), ink("#ff9a2e"), warm)
    lit = mix(lit, ink("#e2502a"), (random.random((n, 1)) < 0.25 * warm) * 0.8)
    light = np.clip(
        random.choice((0.0, 0.25, 1.0), (n, 1), p=(0.35, 0.2, 0.45)) + 0.3 * (depth - 0.5), 0.0, 1.3
    )
    length = random.uniform(5.5, 12.0, n)
    dabs(canvas, leaves[:, 0], leaves[:, 1], length, length * random.uniform(0.42, 0.62, n),
         random.normal(1.2, 0.7, n), mix(shade, lit, light))  # fmt: skip


def grow(random, begin, angle, length, width, generation, twigs, leaves):
    """A branch that wanders and droops, carries twigs, and leaves on the thin ones."""
    n = int(length * 1.6) + 2
    t = np.linspace(0, 1, n)
    bend = angle + np.cumsum(random.normal(0, 0.035, n)) - 0.35 * t * np.sign(np.cos(angle)) * -1
    x = begin[0] + np.cumsum(np.cos(bend)) * length / n
    y = begin[1] + np.cumsum(np.sin(bend) * -0.35 + 0.22) * length / n
    twigs.append((x, y, np.maximum(width * (1 - 0.8 * t) / 2, 0.5)))
    if generation >= 1:
        count = int(length * (0.26 if generation == 1 else 0.42))
        at = random.integers(n // 5, n, count)
        spread = random.uniform(8, 24)
        leaves.append(np.stack([x[at] + random.normal(0, spread, count),
                                y[at] + random.normal(4, spread, count)], axis=1))  # fmt: skip
    if generation < 2:
        for _ in range(8 if generation == 0 else 5):
            i = random.integers(n // 6, n)
            turn = bend[i] + random.choice((-1, 1)) * random.uniform(0.4, 1.1)
            grow(random, np.array([x[i], y[i]]), turn, length * random.uniform(0.28, 0.46),
                 width * 0.5, generation + 1, twigs, leaves)  # fmt: skip


# ---------------------------------------------------------------- the picture


def paint():
    """The whole picture: (HEIGHT, WIDTH, 3) uint8."""
    canvas = np.zeros((HEIGHT * SAMPLES, WIDTH * SAMPLES, 3))
    paint_sky(canvas)
    paint_hills(canvas)
    paint_far_shore(canvas)
    paint_water(canvas)
    jetty = dock()
    reflect_boards(canvas, jetty)
    draw_boards(canvas, jetty)
    paint_bank(canvas)
    red = ink("#c8452f")
    chairs = [
        adirondack_chair(red).moved(-0.42, (0.72, 0, 5.05)),
        adirondack_chair(red).moved(0.10, (1.98, 0, 5.25)),
    ]
    paint_grass(canvas, 462, 385, 301, 3000)
    for chair in chairs:
        cast_shadows(canvas, chair, 0.0)
    for chair in chairs:
        draw_boards(canvas, chair)
    paint_grass(canvas, HEIGHT + 30, 476, 302, 1900)
    paint_flowers(canvas)
    paint_reeds(canvas)
    paint_branches(canvas)
    return develop(canvas)


def develop(canvas):
    """Average the samples, roll off the highlights, darken the corners, encode as sRGB bytes."""
    picture = (
        blur(canvas, 1, passes=2).reshape(HEIGHT, SAMPLES, WIDTH, SAMPLES, 3).mean(axis=(1, 3))
    )
    x, y = np.linspace(-1, 1, WIDTH)[None, :], np.linspace(-1, 1, HEIGHT)[:, None]
    picture = picture * (1 - 0.16 * (x**2 + y**2) ** 1.4)[..., None]
    bright = np.maximum(picture - 0.7, 0)
    picture = np.minimum(picture, 0.7) + 0.3 * (1 - np.exp(-bright / 0.3))
    encoded = np.clip(picture, 0, 1) ** (1 / 2.2)
    encoded = mix(encoded, encoded * encoded * (3 - 2 * encoded), 0.85)
    return np.floor(encoded * 255 + 0.5).astype(np.uint8)


def write_png(path, pixels):
    """A PNG file, written under another name first so that no half picture is ever seen."""
    temporary = path.with_name(f".{path.name}.unfinished")
    Image.fromarray(pixels).save(temporary, "PNG", optimize=True)
    os.replace(temporary, path)


def main():
    parser = argparse.ArgumentParser(description="Paint the lake.")
    add, usual = parser.add_argument, Path(__file__).resolve().with_name("lake.png")
    add("--out", type=Path, default=usual, help="file to write (default: lake.png beside this)")
    add("--overwrite", action="store_true", help="replace a file that is there")
    options = parser.parse_args()
    if options.out.exists() and not options.overwrite:
        parser.error(f"{options.out} exists already: use another --out, or add --overwrite")
    write_png(options.out, paint())


if __name__ == "__main__":
    main()
