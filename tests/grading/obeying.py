"""Does to a student's text what a message says: nothing more, and without thinking.

Each rule takes the words of one advice apart, and edits the lines that it names. New lines stand
beside old ones, so that a later message can be told in the lines of the first text.
"""

import ast
import re

BARRIER = "cuda.syncthreads()"
FINDING = re.compile(r"line (\d+): [\w-]+: ")
OTHER = re.compile(r"\(line (\d+)(?: of \w+ \(exercise\.py\))?\)")
LINES = re.compile(
    r"(?<=\bline )\d+|(?<=\blines )\d+(?: and \d+)?|(?<=^  )\d+(?= \|)", re.MULTILINE
)
NAME = "obeyed"


class NoSuchLine(Exception):
    """A message names a line that is not the student's, or none of what is to be changed."""


class Text:
    """A student's file that is being changed.

    origin: of each line the number that it had at first; 0 for what has been put there.
    """

    def __init__(self, text, origin=None):
        self.lines = text.splitlines()
        self.origin = origin or list(range(1, len(self.lines) + 1))
        self.tree = ast.parse(text)
        self.parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }
        self.new = {}  # number of a line -> (what stands before it, itself, what stands behind it)

    def __str__(self):
        return "\n".join(self.lines) + "\n"

    def first_lines(self, message):
        """The message, with line numbers of the first text."""

        def first(number):
            own = 0 < int(number[0]) <= len(self.origin)  # others are of another file
            return str(self.origin[int(number[0]) - 1]) if own else number[0]

        return LINES.sub(lambda found: re.sub(r"\d+", first, found[0]), message)

    def statement(self, line, kinds=(ast.stmt,)):
        """The innermost statement that begins in a line, or that the line is in."""
        around = [
            node for node in ast.walk(self.tree)
            if isinstance(node, kinds) and node.lineno <= line <= node.end_lineno
        ]  # fmt: skip
        if not around:
            raise NoSuchLine  # what the check has added to the text, or nothing of that kind
        return max(around, key=lambda node: (node.lineno, node.col_offset))

    def at(self, line):
        return self.new.setdefault(line, ([], [self.lines[line - 1]], []))

    def insert_before(self, node, *texts):
        self.at(node.lineno)[0].extend(" " * node.col_offset + text for text in texts)

    def insert_behind(self, node, *texts):
        self.at(node.end_lineno)[2].extend(" " * node.col_offset + text for text in texts)

    def replace(self, node, *texts):
        """A whole statement by lines; none leaves it out."""
        for line in range(node.lineno, node.end_lineno + 1):
            self.at(line)[1][:] = []
        self.at(node.lineno)[1][:] = [" " * node.col_offset + one for one in texts or ["pass"]]

    def wrap(self, node, head):
        """Put a statement under a head, such as an `if`."""
        for line in range(node.lineno, node.end_lineno + 1):
            self.at(line)[1][:] = ["    " + self.lines[line - 1]]
        self.at(node.lineno)[0].append(" " * node.col_offset + head)

    def done(self):
        lines, origin = [], []
        for number, line in enumerate(self.lines, 1):
            before, own, behind = self.new.get(number, ([], [line], []))
            first = self.origin[number - 1]
            lines += [*before, *own, *behind]
            origin += [*[0] * len(before), *[first] * len(own), *[0] * len(behind)]
        return Text("\n".join(lines) + "\n", origin)

    # ------------------------------------------------------------ where

    def path(self, line):
        """The bodies that a line is in, outermost first: (list of statements, index)."""
        node, found = self.statement(line), []
        while node in self.parents:
            parent = self.parents[node]
            for field in ("body", "orelse"):
                body = getattr(parent, field, None)
                if isinstance(body, list) and node in body:
                    found.append((body, body.index(node)))
            node = parent
        return found[::-1]

    def between(self, first, second):
        """Puts a barrier between two lines, in the innermost body that both are in."""
        first, second = sorted((first, second))
        pairs = zip(self.path(first), self.path(second), strict=False)
        shared = [(one, other) for one, other in pairs if one[0] is other[0]]
        (body, here), (_, there) = shared[-1]
        if here == there:  # one statement: the message has to say more
            return False
        self.insert_behind(body[here], BARRIER)
        return True


def essence(message):
    """What the first finding of a message says of lines: without threads, indices, sizes."""
    line = next(filter(FINDING.match, message.splitlines()), "")
    line = re.sub(r"(thread )?[^ ]* of block (\d+|\([^)]*\))", "a thread", line)
    return re.sub(r"\[[^]]*\]|and \d+ more", "", line)


def obeyed(text, message):
    """The text after the advice of a message's first finding; None if no rule knows that."""
    line = next(filter(FINDING.match, message.splitlines()), "")
    here, others = FINDING.match(line), OTHER.search(line)
    for pattern, rule in RULES:
        found = re.search(pattern, line)
        if found:
            numbers = int(here[1]), int((others or here)[1])
            try:
                return text.done() if rule(text, found, *numbers) is not False else None
            except NoSuchLine:
                return None
    return None


# ---------------------------------------------------------------- barriers


def barrier_beside(text, found, here, there):
    kind = (ast.If, ast.For, ast.While)
    if found["behind"]:
        text.insert_behind(text.statement(int(found["behind"]), kind), BARRIER)
    elif found["before"]:
        text.insert_before(text.statement(int(found["before"]), kind), BARRIER)
    elif found["outside"]:
        return two_branches(text, int(found["outside"]), int(found["end"]))
    else:
        return (
            text.between(*map(int, found["lines"].split(" and ")))
            if found["lines"]
            else (text.between(here, there))
        )
    return True


def two_branches(text, line, end):
    """One `if` becomes two of the same condition, with a barrier between; False if it cannot."""
    branch = text.statement(line, (ast.If,))
    later = [one for one in branch.body if one.end_lineno >= end]
    if branch.orelse or not later or later[0] is branch.body[0]:
        return False
    head = f"if {ast.unparse(branch.test)}:"
    around = " " * branch.col_offset
    text.at(later[0].lineno)[0].extend([around + BARRIER, around + head])
    return True


def barrier_ends_loop(text, found, here, there):
    loop = text.statement(int(found[1]), (ast.For, ast.While))
    text.insert_behind(loop.body[-1], BARRIER)


def read_wait_store(text, found, here, there):
    statement = text.statement(here, (ast.Assign, ast.AugAssign))
    value = ast.unparse(statement.value)
    target = statement.target if isinstance(statement, ast.AugAssign) else statement.targets[0]
    name = ast.unparse(target)
    if isinstance(statement, ast.AugAssign):
        value = ast.unparse(
            ast.BinOp(ast.parse(name, mode="eval").body, statement.op, statement.value)
        )
    if "outside" not in found[0]:
        text.replace(statement, f"{NAME} = {value}", BARRIER, f"{name} = {NAME}")
        return
    branch = text.statement(here, (ast.If,))
    test = ast.unparse(branch.test)
    text.insert_behind(branch, BARRIER, f"if {test}:", f"    {name} = {NAME}")
    text.replace(statement, f"{NAME} = {value}")


def out_of_the_branch(text, found, here, there):
    """A barrier: behind the outermost `if` of its loop or function that it is in."""
    barrier = text.statement(here, (ast.Expr,))
    node, branch = barrier, None
    while not isinstance(node, (ast.FunctionDef, ast.For, ast.While)):
        branch = node if isinstance(node, ast.If) else branch
        node = text.parents[node]
    if branch is None or BARRIER not in text.lines[here - 1]:
        return False
    text.replace(barrier)
    text.insert_behind(branch, BARRIER)


def barrier_in_some_rounds(text, found, here, there):
    return out_of_the_branch(text, found, int(found[1]), there)


def work_under_an_if(text, found, here, there):
    """In place of `if test: return`, what follows and has no barrier comes under `if not test`."""
    jump = text.statement(int(found["jump"]), (ast.Return, ast.Break, ast.Continue))
    branch = text.parents[jump]
    if not isinstance(branch, ast.If) or branch.orelse:
        return False
    ((body, index),) = text.path(branch.lineno)[-1:]
    for node in body[index + 1 :]:
        if "sync" not in ast.unparse(node):
            text.wrap(node, f"if not ({ast.unparse(branch.test)}):")
    text.replace(jump)


# ---------------------------------------------------------------- atomics, stores


def one_atomic_step(text, found, here, there):
    statement = text.statement(here, (ast.Assign, ast.AugAssign))
    call = found[1]
    if call.endswith("..."):
        value = statement.value
        if isinstance(statement, ast.Assign):
            parts = value.args if isinstance(value, ast.Call) else (value.left, value.right)
            target = ast.unparse(statement.targets[0])
            value = next(part for part in parts if ast.unparse(part) != target)
        call = call.removesuffix("...") + ast.unparse(value)
    text.replace(statement, call + ")")


def under_an_if(text, found, here, there):
    text.wrap(text.statement(here), found[1])


def one_thread_stores(text, found, here, there):
    places = [f"cuda.{name}.{axis} == 0" for axis in "xy" for name in ("threadIdx", "blockIdx")]
    text.wrap(text.statement(here), f"if {' and '.join(places)}:")


def local_array(text, found, here, there):
    function = text.statement(here, (ast.FunctionDef,))
    for node in ast.walk(function):
        made = isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == found["array"]
        if made and "shared" in ast.unparse(node.value):
            text.replace(node, ast.unparse(node).replace("shared", "local"))
            return True
    return False


def left_out(text, found, here, there):
    statement = text.statement(here)
    call = isinstance(statement, ast.Assign) and "atomic" in ast.unparse(statement.value)
    text.replace(statement, *[ast.unparse(statement.value)] * call)


def all_in_one_step(text, found, here, there):
    text.replace(text.statement(int(found[1])), found[2])


def guard(text, found, here, there):
    """A guard for an index outside: threads return, or the line is left out of their work."""
    array, axis = found["array"], int(found["axis"])
    statement = text.statement(here)
    parts = (part for part in ast.walk(statement) if isinstance(part, ast.Subscript))
    element = next((part for part in parts if ast.unparse(part.value) == array), None)
    if element is None:  # it has another name there
        return False
    indices = element.slice.elts if isinstance(element.slice, ast.Tuple) else [element.slice]
    index, length = ast.unparse(indices[axis]), f"{array}.shape[{axis}]"
    if "around" in found[0]:
        text.wrap(statement, f"if {index} < {length}:")
    else:
        text.insert_before(statement, f"if {index} >= {length}:", "    return")


def steps_of_the_grid(text, found, here, there):
    loop = text.statement(int(found[1]), (ast.For, ast.While))
    if isinstance(loop, ast.While):
        return False
    end = ast.unparse(loop.iter.args[1])
    head = f"for {ast.unparse(loop.target)} in range(cuda.grid(1), {end}, cuda.gridsize(1)):"
    text.at(loop.lineno)[1][:] = [" " * loop.col_offset + head]


# ---------------------------------------------------------------- types


def written_so(text, found, here, there):
    """`write float32(0.5)`: where that stands without."""
    inner = re.fullmatch(r"\w+\((.*)\)", found[1])[1]
    line = text.lines[here - 1]
    new = re.sub(
        rf"(?<![\w.(]){re.escape(inner)}(?![\w.])|(?<=(?<!32)\(){re.escape(inner)}(?![\w.])",
        lambda _: found[1],
        line,
    )
    text.at(here)[1][:] = [new]
    return new != line


def begun_as_float32(text, found, here, there):
    statement = text.statement(int(found[1]), (ast.Assign, ast.AnnAssign))
    if "float32" in ast.unparse(statement) and "float64" not in ast.unparse(statement):
        return False
    value = ast.unparse(statement.value).replace("float64", "float32")
    target = getattr(statement, "target", None) or statement.targets[0]
    text.replace(statement, f"{ast.unparse(target)} = float32({value})")


def synchronize(text, found, here, there):
    """What the stream is called: the name that it was given first in this function."""
    function = text.statement(here, (ast.FunctionDef,))
    body = "\n".join(text.lines[function.lineno - 1 : function.end_lineno])
    stream = re.search(r"(\w+)(?:, \w+)* = cuda\.stream\(\)", body)
    if not stream:
        return False
    ends = [node for node in ast.walk(function) if isinstance(node, ast.Return)]
    place = ends[-1] if " before " in found[0] else text.statement(here)
    text.insert_before(place, f"{stream[1]}.synchronize()")


def meant(text, found, here, there):
    line = text.lines[here - 1]
    text.at(here)[1][:] = [re.sub(rf"\b{found[1]}\b", found[2], line)]


def whole_division(text, found, here, there):
    line = text.lines[here - 1]
    text.at(here)[1][:] = [re.sub(r"(?<!/)/(?!/)", "//", line)]
    return "/" in line.replace("//", "")


def imported(text, found, here, there):
    first = next(one for one in text.tree.body if isinstance(one, (ast.Import, ast.ImportFrom)))
    text.insert_before(first, found[1])


RULES = [
    (r"write `((?:from|import) [^`]*)` at the top", imported),
    (
        r"put cuda\.syncthreads\(\) between (?:them|lines (?P<lines>\d+ and \d+))"
        r"(?:, outside the `if` of line (?P<outside>\d+): end it before line (?P<end>\d+))?"
        r"(?:, behind the (?:`if`|loop) of line (?P<behind>\d+))?"
        r"(?:(?:,| and) before the (?:`if`|loop) of line (?P<before>\d+))?",
        barrier_beside,
    ),
    (r"put a second cuda\.syncthreads\(\) at the end of the loop of line (\d+)", barrier_ends_loop),
    (r"put cuda\.syncthreads\(\) into the loop of line (\d+)", barrier_ends_loop),
    (r"a variable first, then cuda.syncthreads\(\), then store(?:; .* outside)?", read_wait_store),
    (r"passes its barrier, line (\d+), only in some of its rounds", barrier_in_some_rounds),
    (r"move it out of the branch, and leave the work in there", out_of_the_branch),
    (r"(?:in line|of line) (?P<jump>\d+);.*work under an `if`, in place of the", work_under_an_if),
    (r"under `(if [^`]*:)`", under_an_if),
    (r"(cuda\.atomic\.\w+\(.*?\.\.\.)\)(?: makes| and .* make each)", one_atomic_step),
    (r"(cuda\.atomic\.\w+\([^`]*)\) is one step", one_atomic_step),
    (r"leave out (?:the assignment|that store|the store)", left_out),
    (r"(?P<array>\w+)\[[^]]*\] is written .* a cuda\.local\.array", local_array),
    (r"or let one thread store", one_thread_stores),
    (r"the loop of line (\d+) goes on by .* begin at cuda.grid\(1\)", steps_of_the_grid),
    (r"write (float32\([^)]*\))", written_so),
    (r"since line (\d+).*(?:double precision; make it|from its beginning)", begun_as_float32),
    (r"write //(?: or|,)", whole_division),
    (r"the name `(\w+)` is not defined; did you mean `(\w+)`", meant),
    (r"before line (\d+) stores.* (cuda\.atomic\.\w+\(.*\)) does all", all_in_one_step),
    (
        r"(?P<array>\w+)\[[^]]*\] is outside .*: axis (?P<axis>\d) .*(?:Is a guard (?:such as "
        r"`if i|missing.*`if` around)|along axis \d it is missing)",
        guard,
    ),
    (r"stream\.synchronize\(\)(?: before (?:`return`|you read))?", synchronize),
]  # fmt: skip
