"""Make a case: a kernel in disguise, broken by one change, of which a run shows what is wrong."""

import functools
import hashlib
import unicodedata
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any, NamedTuple

from kernels.plumbing.errors import InputError
from lessons.detective import breaks
from lessons.detective.breaks import KINDS, kinds_of
from lessons.detective.disguise import Disguise
from lessons.detective.gather import Gathered, file_text
from lessons.detective.layouts import Layout, laid_out, lay
from lessons.detective.running import FILE, Ran, run
from lessons.detective.subjects import SUBJECTS, Draw, Subject
from lessons.lab.simulator.findings import Finding
from lessons.mutations.source import Source

LEVELS = {
    1: ("bounds", "index", "launch shape", "lost update", "unwritten", "precision"),
    2: ("barrier", "race", "unwritten", "lost update", "bounds", "index", "precision"),
    3: ("barrier", "race", "unwritten", "precision", "index", "host order", "deadlock"),
    4: ("race", "deadlock", "barrier", "unwritten", "index", "host order"),
}
CAUSES = {  # of changes that may be seen as a kind; of others, only what is called like it
    "bounds": ("index", "slot", "stale"), "unwritten": ("index", "slot", "stale"),
    "race": ("index", "slot", "meeting"),
    "deadlock": ("meeting", "index", "stale", "barrier"),
}  # fmt: skip
RARE = "lost update", "host order", "race"
INPUTS_OF_PROOF = 3  # with which a disguised right kernel is run
TRIES = 12  # subjects, before a case is given up
SHARE_OF_LAYOUTS = 0.7  # of the arrays of a case
MOST_RUNS = 10  # of broken kernels of one kind


class Case(NamedTuple):
    """kinds: that it may be said to be of, the first the best. lines: that may be named.

    names: what its arguments are called, in the order of the launch function. finding: the first
    of the simulator, or None if only the values are wrong.
    """

    level: int
    seed: str
    subject: Subject
    launch: str
    names: Mapping[str, str]
    constants: Mapping[str, int]
    layouts: Mapping[str, Layout]
    right: str
    wrong: str
    kinds: tuple[str, ...]
    lines: frozenset[int]
    finding: Finding | None

    @property
    def task(self) -> str:
        sentence = self.subject.does
        for old, new in self.names.items():
            sentence = sentence.replace("{" + old + "}", new)
        return sentence

    def rng(self, purpose: object) -> Random:
        return Random(f"{self.level} {self.seed} {self.subject.name} {purpose}")

    def sizes(self, number: int) -> dict[str, int]:
        """The sizes of its inputs, of which number 0 is the one that is shown."""
        rng = self.rng(f"sizes {number}")
        return {name: rng.randint(*limits) for name, limits in self.subject.sizes.items()}

    def inputs(
        self, number: int, sizes: Mapping[str, int] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """(arguments, expected outputs) by the names that they have in the case."""
        draw = Draw(self.rng(f"values {number}").getrandbits(60), self.constants)
        made = self.subject.make(draw, **(sizes or self.sizes(number)))
        arguments, expected = (
            {self.names[name]: value for name, value in table.items()}
            for table in laid_out(*made, self.layouts)
        )
        return arguments, expected

    def run(
        self, text: str, number: int = 0, sizes: Mapping[str, int] | None = None, **options: Any
    ) -> Ran:
        return run(text, self.launch, *self.inputs(number, sizes), **options)


def subjects_of(lesson: str | None, level: int | None) -> list[Subject]:
    """Raises `InputError` if there are none."""
    alike = [one for one in SUBJECTS.values() if lesson in (None, one.lesson)]
    if not alike:
        known = sorted(
            {one.lesson for one in SUBJECTS.values()}, key=lambda n: (int(n.strip("b")), n)
        )
        raise InputError(f"there are no cases of lesson {lesson}: it is one of {', '.join(known)}")
    found = [one for one in alike if level in (None, one.level)]
    if not found:
        levels = ", ".join(sorted({str(one.level) for one in alike}))
        raise InputError(f"lesson {lesson} has no cases of level {level}, but of {levels}")
    return found


def secret_seed(seed: str, secret: str | None) -> str:
    """A seed that only who knows the secret can make a case of."""
    seed = unicodedata.normalize("NFC", seed)  # some computers write the name of a folder otherwise
    return hashlib.sha256(f"{secret} {seed}".encode()).hexdigest() if secret else seed


@functools.lru_cache(maxsize=16)
def make_case(seed: str, lesson: str | None = None, level: int | None = None) -> Case:
    """The case of a seed; of a lesson, or of a level from 1 to 4. Raises `InputError`."""
    chosen = subjects_of(lesson, level)
    rng = Random(f"case {lesson} {level} {seed}")
    for attempt in range(TRIES):
        subject = rng.choice(chosen)
        found = case_of(subject, f"{lesson} {level} {seed} {attempt}", rng)
        if found is not None:
            return found
    raise InputError(f"no case could be made with seed {seed}: take another one")


def case_of(subject: Subject, seed: str, rng: Random) -> Case | None:
    """A case of one subject; None if nothing that was tried has shown anything."""
    right = disguised(subject, seed)
    if not all(right.run(right.right, number).ok for number in range(INPUTS_OF_PROOF)):
        return None
    kinds = rng.sample(LEVELS[subject.level], len(LEVELS[subject.level]))
    if rng.random() < 0.5:  # few kernels can have these: so they come first where they can
        kinds.sort(key=lambda kind: kind not in RARE)
    source = Source(right.right)
    everything = breaks.breaks(source, rng)
    found = (one for kind in kinds for one in broken(right, kind, everything, source))
    return next(found, None)


def disguised(subject: Subject, seed: str) -> Case:
    """A kernel in disguise, as a case without anything wrong."""
    rng = Random(f"disguise {subject.name} {seed}")
    constants = {name: rng.choice(values) for name, values in subject.vary.items()}
    gathered = Gathered(subject.module, subject.launch, constants)
    least = {name: limits[0] for name, limits in subject.sizes.items()}
    arguments = subject.make(Draw(0, constants), **least)[0]
    layouts = {}
    share = SHARE_OF_LAYOUTS if subject.level > 1 else 1
    for name, value in arguments.items():
        if hasattr(value, "shape") and rng.random() < share:
            layout = Layout.drawn(len(value.shape), rng)
            if lay(gathered.functions, subject.launch, name, layout):
                layouts[name] = layout
    disguise = Disguise(gathered, f"{subject.name} {seed}", subject.level == 1)
    names, launch = disguise.rename(subject.launch, list(arguments))
    text = file_text(disguise.constants, disguise.functions)
    given = subject.level, seed, subject, launch, names, constants, layouts
    return Case(*given, text, text, (), frozenset(), None)


def broken(
    right: Case, kind: str, everything: list[breaks.Break], source: Source
) -> Iterator[Case]:
    """Cases of broken texts of which a run shows that they are of this kind."""
    fit = [one for one in everything if one.cause in CAUSES.get(kind, (kind,))]
    fit.sort(key=lambda one: one.cause == breaks.INDEX)  # a slip of an index comes last
    for one in fit[:MOST_RUNS]:
        text = breaks.broken_text(source, one)
        if text is None:
            continue
        ran = right.run(text)
        kinds = kinds_of(ran, one.cause)
        if kind not in kinds[:1]:
            continue
        finding = ran.findings[0] if ran.findings else None
        lines = breaks.changed_lines(right.right, text)
        if finding is not None and finding.file == FILE:
            lines |= {finding.line, finding.other_line or finding.line}
        yield right._replace(wrong=text, kinds=kinds, lines=frozenset(lines), finding=finding)


assert {kind for kinds in LEVELS.values() for kind in kinds} == set(KINDS)
