"""The possible changes of the source, and the sample of them that is tried."""

import ast
import hashlib
import io
import re
import tokenize
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import islice, pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SOURCE = Path("src/ensclust")
ROOMS = (
    "_kernels", "_support", "_files", "_ensemble", "similarity", "_trees", "_cuts",
    "_stream", "_generate", "_quality", "_methods", "datasets", "modules", "cli",
)  # fmt: skip
LEFT_OUT = ("_view", "paper")

_COMPARED = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_COMPARED |= {"is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_COMPUTED = {"+": "-", "-": "+", "*": "/", "/": "*", "//": "/", "%": "*", "**": "*"}
_COMPUTED |= {"&": "|", "|": "&", "^": "&", "<<": ">>", ">>": "<<", "@": "*"}

# Calls and keywords whose strings are meant for readers.
_TOLD = re.compile(r"(Error|Warning)$|^(warn\w*|print|s?echo|MethodInfo|unexpected)$")
_NAMING = re.compile(r"^_?(check|require|refuse|naming|explaining|allowed)")
_WORDS = {"help", "metavar", "epilog", "short_help", "advice", "what", "show_default"}
_MESSAGES = {"msg", "message", "hint", "advice", "what", "words", "why"}
_SHOWN = {"__repr__", "__str__", "_repr_html_", "__dir__"}


@dataclass(frozen=True)
class Change:
    """Bytes of a file, and what replaces them."""

    path: str  # below SOURCE
    where: str  # name of the function, or "" in a module
    lines: tuple[int, int]  # that a test must reach, first and last
    start: int
    end: int
    text: str
    before: str  # the changed lines, without comments
    after: str
    kind: tuple[str, str]  # both of them, also without strings for readers
    number: int  # among changes of the same kind in the function

    @property
    def room(self) -> str:
        """Return the folder, or "modules" for a file outside any folder."""
        return self.path.split("/")[0] if "/" in self.path else "modules"

    @cached_property
    def id(self) -> str:
        """Return a name that stays valid as long as the code of the line does.

        Comments and messages are not part of it, so rewording them keeps a result.
        """
        parts = (self.path, self.where, *self.kind, str(self.number))
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:12]

    def apply(self, source: bytes) -> bytes:
        """Return the changed source."""
        return source[: self.start] + self.text.encode() + source[self.end :]


def changes(source: bytes, path: str) -> list[Change]:
    """Return every possible change of a file, in order."""
    walk = _Walk(source)
    tree = ast.parse(source)
    walk.visit(tree)
    code = _blanked(source, _comments(source))
    wordless = _blanked(code, map(walk.span, filter(_is_words, ast.walk(tree))))
    found, seen = [], Counter()
    for where, lines, start, end, text in walk.found:
        first = source.rfind(b"\n", 0, start) + 1
        last = source.find(b"\n", end)
        shown, kind = (
            (
                _one_line(own[first:last]),
                _one_line(own[first:start] + text.encode() + own[end:last]),
            )
            for own in (code, wordless)
        )
        number = seen[where, kind]
        seen[where, kind] += 1
        found.append(Change(path, where, lines, start, end, text, *shown, kind, number))
    return found


def _comments(source: bytes) -> Iterator[tuple[int, int]]:
    starts = _starts(source)
    for token in tokenize.tokenize(io.BytesIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            start = starts[row - 1] + len(token.line[:column].encode())
            yield start, start + len(token.string.encode())


def _blanked(source: bytes, spans: Iterable[tuple[int, int]]) -> bytes:
    blank = bytearray(source)
    for start, end in spans:
        blank[start:end] = b" " * (end - start)
    return bytes(blank)


def _starts(source: bytes) -> list[int]:
    """Return where each line starts."""
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    return starts


def is_another_program(change: Change, source: bytes) -> bool:
    """Whether the changed source is valid Python and a different program."""
    try:
        tree = ast.parse(change.apply(source))
        compile(tree, change.path, "exec")
    except (SyntaxError, ValueError):
        return False
    return ast.dump(tree) != _dump(source)


@cache
def _dump(source: bytes) -> str:
    return ast.dump(ast.parse(source))


@cache
def everything() -> dict[str, list[Change]]:
    """Return the changes of all rooms."""
    found = defaultdict(list)
    for path in sorted((ROOT / SOURCE).rglob("*.py")):
        name = path.relative_to(ROOT / SOURCE).as_posix()
        if name.split("/")[0] not in LEFT_OUT:
            for change in changes(path.read_bytes(), name):
                found[change.room].append(change)
    return {room: found[room] for room in ROOMS}


def sample(seed: int, number: int, least: int = 80) -> list[Change]:
    """Return ``number`` changes: ``least`` of each room, the rest by its size.

    A change is drawn by a hash of itself, so that others stay in the sample when some
    lines of the source are rewritten.
    """
    rooms = everything()
    sizes = {room: len(found) for room, found in rooms.items()}
    rest = max(0, number - sum(min(least, size) for size in sizes.values()))
    left = {room: max(0, size - least) for room, size in sizes.items()}
    drawn = []
    for room, found in rooms.items():
        extra = round(rest * left[room] / max(1, sum(left.values())))
        drawn += _draw(found, seed, min(least, sizes[room]) + extra)
    return drawn


def _draw(found: list[Change], seed: int, number: int) -> list[Change]:
    def drawn_by(change: Change) -> bytes:
        return hashlib.sha256(f"{seed} {change.id}".encode()).digest()

    ordered = sorted(found, key=drawn_by)
    valid = (
        change
        for change in ordered
        if is_another_program(change, (ROOT / SOURCE / change.path).read_bytes())
    )
    return list(islice(valid, number))


def _one_line(source: bytes) -> str:
    return " ".join(source.decode().split())


class _Walk(ast.NodeVisitor):
    """Collects (function, lines, start, end, new text) of all changes."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self.found: list[tuple[str, tuple[int, int], int, int, str]] = []
        self._starts = _starts(source)
        self._names: list[str] = []
        self._lines = (0, 0)  # of the statement; (0, 0) is the whole module
        self._is_told = False

    # Places

    def span(self, node: ast.AST) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset
        return start, self._starts[node.end_lineno - 1] + node.end_col_offset

    def _add(self, span: tuple[int, int], text: str) -> None:
        where = ".".join(self._names)
        self.found.append((where, self._lines, *span, text))

    def _replace(self, node: ast.AST, text: str) -> None:
        self._add(self.span(node), text)

    def _swap(self, left: ast.AST, right: ast.AST, table: dict[str, str]) -> None:
        """Exchange the operator between two operands."""
        start, end = self.span(left)[1], self.span(right)[0]
        between = self.source[start:end].decode()
        words = sorted(table, key=len, reverse=True)
        pattern = "|".join(re.escape(word) for word in words).replace(r"\ ", r"\s+")
        found = re.search(pattern, re.sub(r"#.*", lambda m: " " * len(m[0]), between))
        if found:
            after = table[" ".join(found[0].split())]
            self._add((start + found.start(), start + found.end()), after)

    # Scopes

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt) and self._names_of_function():
            outer = self._lines
            body = getattr(node, "body", None)
            last = body[0].lineno - 1 if isinstance(body, list) else node.end_lineno
            self._lines = node.lineno, max(node.lineno, last)
            super().visit(node)
            self._lines = outer
        else:
            super().visit(node)

    def _names_of_function(self) -> bool:
        return self._lines != (0, 0)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if node.name in _SHOWN:
            return
        outer, self._lines = self._lines, (node.body[0].lineno, node.end_lineno)
        self._names.append(node.name)
        for part in [*node.decorator_list, *node.args.defaults, *node.args.kw_defaults]:
            if part is not None:
                self.visit(part)
        for statement in node.body:
            self.visit(statement)
        self._names.pop()
        self._lines = outer

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._lines = self._lines, (0, 0)
        self._names.append(node.name)
        for part in [*node.decorator_list, *node.body]:
            self.visit(part)
        self._names.pop()
        self._lines = outer

    # Statements

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call):
            self._replace(node, "pass")
        if not isinstance(node.value, ast.Constant):  # else a docstring
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        targets = [name.id for name in node.targets if isinstance(name, ast.Name)]
        if any(name.startswith("__") for name in targets):
            return
        if any(isinstance(t, ast.Attribute | ast.Subscript) for t in node.targets):
            self._replace(node, "pass")
        if _MESSAGES.isdisjoint(targets):
            self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace(node, "pass")
        table = {f"{a}=": f"{b}=" for a, b in _COMPUTED.items()}
        self._swap(node.target, node.value, table)
        self.generic_visit(node)

    def visit_Raise(self, node: ast.Raise) -> None:
        self._replace(node, "pass")

    def visit_Delete(self, node: ast.Delete) -> None:
        self._replace(node, "pass")

    def visit_Break(self, node: ast.Break) -> None:
        self._replace(node, "continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self._replace(node, "break")

    def visit_Return(self, node: ast.Return) -> None:
        is_none = isinstance(node.value, ast.Constant) and node.value.value is None
        if node.value is not None and not is_none:
            self._replace(node, "return None")
            self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return
        self._replace(node.test, "True")
        self._replace(node.test, "False")
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._replace(node.test, "True")
        self._replace(node.test, "False")
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._replace(test, "True")
        self.generic_visit(node)

    # Expressions

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, right in pairwise([node.left, *node.comparators]):
            self._swap(left, right, _COMPARED)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self._swap(node.left, node.right, _COMPUTED)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in pairwise(node.values):
            self._swap(left, right, {"and": "or", "or": "and"})
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not | ast.USub | ast.Invert):
            operand = self.source[slice(*self.span(node.operand))].decode()
            self._replace(node, operand)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, repr(not value))
        elif isinstance(value, int | float):
            self._replace(node, repr(value + 1))
        elif isinstance(value, str) and not self._is_told and not _is_prose(value):
            self._replace(node, repr(value + "XX"))

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Do not change f-strings: most are messages."""

    def visit_Call(self, node: ast.Call) -> None:
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if _TOLD.search(name):
            return
        self.visit(node.func)
        outer, self._is_told = self._is_told, bool(_NAMING.search(name))
        for argument in node.args:
            is_text = isinstance(argument, ast.Constant) and (
                argument.value is None or isinstance(argument.value, str)
            )
            if not is_text and not isinstance(argument, ast.Starred):
                self._replace(argument, "None")
            self.visit(argument)
        for keyword in node.keywords:
            if keyword.arg not in _WORDS:
                self._drop(keyword)
                self.visit(keyword.value)
        self._is_told = outer

    def _drop(self, keyword: ast.keyword) -> None:
        if keyword.arg is None:
            return
        start, end = self.span(keyword)
        rest = re.match(rb"\s*,", self.source[end:])
        self._add((start, end + rest.end() if rest else end), "")


def _is_words(node: ast.AST) -> bool:
    """Whether a node is a string for readers: a message, or a docstring."""
    if isinstance(node, ast.JoinedStr):
        return True
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return is_text and _is_prose(node.value)


def _is_prose(text: str) -> bool:
    return " " in text.strip() or not text
