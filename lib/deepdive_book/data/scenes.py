"""Generated scenes: colored shapes that may occlude one another, with boxes and masks; and films of
them.

The rule. One to `most` objects are painted on a dark gray background, from back to front. An object
has a class (`SHAPES`), one of six colors (eight where there may be more than six objects), which is
independent of its class and not used by another object of the scene, a radius of an eighth to a
quarter of the side by default, and a position inside the scene. An object that would leave less
than `SEEN` of itself or of another one visible is sampled again. At last every pixel gets noise. In
a film an object moves in a straight line, by its own pixels per frame, and is reflected at the
edges; the order from back to front stays, and `SEEN` holds in every frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from deepdive.data.errors import DataError
from deepdive.data.generated import whole
from deepdive.data.images import SHAPES, Bytes, Floats, shape

Whole = NDArray[np.int64]
COLORS = {"red": (214, 60, 52), "green": (66, 166, 78), "blue": (66, 108, 214),
           "yellow": (224, 194, 62), "violet": (160, 84, 190), "cyan": (74, 186, 200)}  # fmt: skip
MORE_COLORS = {"white": (226, 226, 226), "pink": (240, 150, 180)}  # for seven or eight objects
CROWDED = 1 / 6  # the largest radius with which seven or eight objects fit
RADII = (1 / 8, 1 / 4)  # the smallest and largest radius, as fractions of the side
SEEN = 0.6  # the share of each thing that is in view, at least
NOISE = 14.0  # its standard deviation, of 255


@dataclass(frozen=True)
class SceneObject:
    """One shape: its kind in `SHAPES`, its colour, its middle and radius in pixels, and by how many
    pixels a frame it moves.
    """

    kind: int
    color: str
    y: float
    x: float
    radius: float
    moves: tuple[float, float] = (0.0, 0.0)

    def inside(self, size: int) -> NDArray[np.bool_]:
        """Which pixels are its own where nothing hides it, (size, size)."""
        y, x = np.mgrid[:size, :size] - np.array([self.y, self.x])[:, None, None]
        return shape(self.kind, y, x, self.radius)

    def after(self, frames: int, size: int) -> SceneObject:
        """The thing so many frames later: straight on, and back at the edges."""
        room = size - 1 - 2 * self.radius
        place = np.array([self.y, self.x]) - self.radius + frames * np.array(self.moves)
        y, x = self.radius + room - np.abs(place % (2 * room) - room)
        back = place % (2 * room) > room
        moves = tuple(np.where(back, -1, 1) * np.array(self.moves))
        return replace(self, y=float(y), x=float(x), moves=(float(moves[0]), float(moves[1])))


@dataclass(frozen=True)
class Scenes:
    """Scenes of one size, and what stands in each.

    pixels  uint8 (N, 3, size, size)
    owner   int64 (N, size, size): 0 where the ground is seen, j + 1 where thing j of the scene is
    things  for each scene its things, from back to front
    """

    pixels: Bytes
    owner: Whole
    things: tuple[tuple[SceneObject, ...], ...]
    source: str
    names: tuple[str, ...] = SHAPES

    def __len__(self) -> int:
        return len(self.things)

    def kinds(self, n: int) -> Whole:
        """The kind of each thing of scene n, (things,): a place in `names`."""
        return np.array([thing.kind for thing in self.things[n]], np.int64)

    def masks(self, n: int) -> NDArray[np.bool_]:
        """The pixels at which each thing of scene n is seen, (things, size, size)."""
        return self.owner[n] == np.arange(1, 1 + len(self.things[n]))[:, None, None]

    def boxes(self, n: int) -> Floats:
        """The box around what is seen of each thing of scene n, (things, 4): the middle's column
        and line, width and height, as shares of the side.
        """
        found = []
        for mask in self.masks(n):
            lines, columns = (np.flatnonzero(mask.any(axis)) for axis in (1, 0))
            ends = columns[0], columns[-1] + 1, lines[0], lines[-1] + 1
            left, right, top, bottom = (end / self.owner.shape[-1] for end in ends)
            found.append(((left + right) / 2, (top + bottom) / 2, right - left, bottom - top))
        return np.array(found, np.float64).reshape(-1, 4)

    def classes(self) -> Whole:
        """What is seen at each pixel, (N, size, size): 0 the ground, 1 + k a thing of kind k."""
        tables = [np.concatenate([[0], 1 + self.kinds(n)]) for n in range(len(self))]
        return np.stack([table[owner] for table, owner in zip(tables, self.owner, strict=True)])


def generated_scenes(
    n: int,
    size: int = 32,
    most: int = 4,
    seed: int = 0,
    radii: tuple[float, float] = RADII,
) -> Scenes:
    """Return n scenes of size x size pixels (16 at least) with one to `most` objects (at most six,
    or eight with radii up to `CROWDED`), whose radii are between two fractions of the side. Scene i
    is the same for every n. Raises DataError for other numbers.
    """
    if not 0 < radii[0] <= radii[1] <= RADII[1]:
        raise DataError(f"radii: got {radii}, expected 0 < smallest <= largest <= {RADII[1]}")
    (scenes,) = _frames(n, 1, size, most, seed, 0.0, radii)
    which = "" if radii == RADII else f", radii=({radii[0]:.3f}, {radii[1]:.3f})"
    source = f"generated_scenes({n}, {size=}, {most=}, {seed=}{which}) (generated)"
    return replace(scenes, source=source)


def generated_films(
    n: int, frames: int = 8, size: int = 32, most: int = 2, seed: int = 0, speed: float = 1.5
) -> tuple[Scenes, ...]:
    """n films: one `Scenes` a frame, in which scene i is film i. Along each axis a thing moves by
    at most `speed` pixels a frame.
    """
    whole("frames", frames, 1, None)
    source = f"generated_films({n}, {frames=}, {size=}, {most=}, {seed=}, {speed=}) (generated)"
    return tuple(
        replace(scenes, source=f"frame {t} of {source}")
        for t, scenes in enumerate(_frames(n, frames, size, most, seed, speed))
    )


def _frames(
    n: int,
    frames: int,
    size: int,
    most: int,
    seed: int,
    speed: float,
    radii: tuple[float, float] = RADII,
) -> tuple[Scenes, ...]:
    room = 8 if radii[1] <= CROWDED else 6
    for name, value, least, largest in (("n", n, 1, None), ("size", size, 16, None),
                                        ("most", most, 1, room)):  # fmt: skip
        whole(name, value, least, largest)
    painted = []
    for i in range(n):
        rng = np.random.default_rng([seed, i])
        things = _drawn(rng, size, most, frames, speed, radii)
        ground = rng.uniform(20, 80)
        each = [tuple(thing.after(t, size) for thing in things) for t in range(frames)]
        painted.append([(*_painted(now, size, ground, rng), now) for now in each])
    found = []
    for t in range(frames):
        pixels, owner, shown = zip(*(film[t] for film in painted), strict=True)
        found.append(Scenes(np.stack(pixels), np.stack(owner), shown, ""))
    return tuple(found)


def _drawn(
    rng: np.random.Generator,
    size: int,
    most: int,
    frames: int,
    speed: float,
    radii: tuple[float, float],
) -> tuple[SceneObject, ...]:
    """One to `most` things that are all in view at each frame."""
    things: tuple[SceneObject, ...] = ()
    number, tries = int(rng.integers(1, most + 1)), 0
    palette = COLORS if most <= len(COLORS) else COLORS | MORE_COLORS
    colors = [str(color) for color in rng.permutation(list(palette))]
    while len(things) < number:
        radius = rng.uniform(size * radii[0], size * radii[1])
        y, x = rng.uniform(radius, size - 1 - radius, 2)
        kind, color = int(rng.integers(len(SHAPES))), colors[len(things)]
        up, along = rng.uniform(-speed, speed, 2)
        more = (*things, SceneObject(kind, color, float(y), float(x), float(radius), (up, along)))
        if all(_in_view([a.after(t, size) for a in more], size) for t in range(frames)):
            things = more
        tries += 1
        if tries % 40 == 0:  # no room is left: begin again
            things = ()
    return things


def _owner(things: Sequence[SceneObject], size: int) -> Whole:
    owner = np.zeros((size, size), np.int64)
    for j, thing in enumerate(things):
        owner[thing.inside(size)] = j + 1
    return owner


def _in_view(things: Sequence[SceneObject], size: int) -> bool:
    owner = _owner(things, size)
    return all(
        (owner == j + 1).sum() >= SEEN * thing.inside(size).sum() for j, thing in enumerate(things)
    )


def _painted(
    things: tuple[SceneObject, ...], size: int, ground: float, rng: np.random.Generator
) -> tuple[Bytes, Whole]:
    owner = _owner(things, size)
    palette = COLORS | MORE_COLORS
    table = np.array([(ground,) * 3, *(palette[thing.color] for thing in things)])
    pixels = np.moveaxis(table[owner], -1, 0) + rng.normal(0, NOISE, (3, size, size))
    return pixels.clip(0, 255).astype(np.uint8), owner
