"""All mutants of a module: each replaces the text at one place of its source (DeMillo, Lipton and Sayward,
1978).

Docstrings, annotations, decorators, imports and error messages are not changed, as no test of numbers could
detect a change there.
"""

from __future__ import annotations

import ast
from typing import NamedTuple

COMPARISONS: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.Lt: ("<=", ">"), ast.LtE: ("<", ">="), ast.Gt: (">=", "<"), ast.GtE: (">", "<="),
    ast.Eq: ("!=",), ast.NotEq: ("==",), ast.Is: ("is not",), ast.IsNot: ("is",),
    ast.In: ("not in",), ast.NotIn: ("in",),
}  # fmt: skip
ARITHMETIC: dict[type[ast.operator], tuple[str, str]] = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"),
    ast.Pow: ("**", "*"), ast.FloorDiv: ("//", "*"), ast.Mod: ("%", "*"),
}  # fmt: skip
EXTREMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "fmin": "fmax"}
OPERATORS = ("comparison", "arithmetic", "constant", "extreme", "sign", "index", "condition")


class Mutant(NamedTuple):
    """One change: the characters of a module that are replaced, and their replacement.

    module : path inside the project, with /; line : counted from 1; start, end : of the text that is
        replaced
    [characters of the module]
    """

    module: str
    function: str
    line: int
    operator: str
    start: int
    end: int
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.module}:{self.line} {self.function}: {self.operator}: {self.before} -> {self.after}"

    def applied(self, source: str) -> str:
        """Return the module's text with this change."""
        return source[: self.start] + self.after + source[self.end :]

    def lines(self, source: str) -> tuple[str, str]:
        """Return the changed lines before and after, each as one line with single spaces between words."""
        first = source.rfind("\n", 0, self.start) + 1
        last = source.find("\n", self.end)
        last = len(source) if last < 0 else last
        changed = source[first : self.start] + self.after + source[self.end : last]
        return " ".join(source[first:last].split()), " ".join(changed.split())


def find_mutants(module: str, source: str) -> list[Mutant]:
    """Return all mutants of a module in the order of its text; each is valid Python."""
    return sorted(
        MutantFinder(module, source).found(), key=lambda mutant: (mutant.start, mutant.end, mutant.after)
    )


class MutantFinder(ast.NodeVisitor):
    """Walks through a module's text and records possible changes."""

    def __init__(self, module: str, source: str) -> None:
        self._module, self._source = module, source
        self._offsets = [0]
        for line in source.splitlines(keepends=True):
            self._offsets.append(self._offsets[-1] + len(line))
        self._lines = source.splitlines()
        self._function = "(module)"
        self._mutants: list[Mutant] = []

    def found(self) -> list[Mutant]:
        """Return the mutants without those that Python would reject."""
        self.visit(ast.parse(self._source))
        return [mutant for mutant in self._mutants if readable(mutant.applied(self._source))]

    def place(self, line: int, column: int) -> int:
        """Return the number of characters before a place that Python's parser gives in bytes of a line."""
        text = self._lines[line - 1].encode()[:column].decode()
        return self._offsets[line - 1] + len(text)

    def span(self, node: ast.expr) -> tuple[int, int]:
        """Return the first and last character of a node."""
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.place(node.lineno, node.col_offset), self.place(node.end_lineno, node.end_col_offset)

    def text(self, node: ast.expr) -> str:
        start, end = self.span(node)
        return self._source[start:end]

    def note(self, operator: str, start: int, end: int, after: str) -> None:
        before = self._source[start:end]
        line = self._source.count("\n", 0, start) + 1
        if before != after:
            self._mutants.append(
                Mutant(self._module, self._function, line, operator, start, end, before, after)
            )

    def replace(self, operator: str, node: ast.expr, after: str) -> None:
        self.note(operator, *self.span(node), after)

    def between(self, operator: str, left: ast.expr, right: ast.expr, mark: str, after: str) -> None:
        """Replace a mark that stands between two nodes, past closing brackets and comments of the first."""
        start, end = self.span(left)[1], self.span(right)[0]
        at = self._source.find(mark, start, end)
        if at >= 0:
            self.note(operator, at, at + len(mark), after)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        outer, self._function = self._function, node.name
        for default in [*node.args.defaults, *(d for d in node.args.kw_defaults if d is not None)]:
            self.visit(default)
        for line in node.body:
            self.visit(line)
        self._function = outer

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        outer, self._function = self._function, node.name
        for line in node.body:
            self.visit(line)
        self._function = outer

    def visit_Raise(self, node: ast.Raise) -> None:
        """Skip error messages; whether they are raised depends on the condition before."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Skip assertions, which inform type checkers and are no behaviour."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Skip formatted texts."""

    def visit_Compare(self, node: ast.Compare) -> None:
        self.generic_visit(node)
        terms = [node.left, *node.comparators]
        for left, mark, right in zip(terms, node.ops, node.comparators, strict=False):
            sign = COMPARISON_SIGNS[type(mark)]
            for after in COMPARISONS[type(mark)]:
                self.between("comparison", left, right, sign, after)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        self.generic_visit(node)
        if type(node.op) in ARITHMETIC:
            self.between("arithmetic", node.left, node.right, *ARITHMETIC[type(node.op)])

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.generic_visit(node)
        if type(node.op) in ARITHMETIC:
            mark, after = ARITHMETIC[type(node.op)]
            self.between("arithmetic", node.target, node.value, f"{mark}=", f"{after}=")

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self.generic_visit(node)
        if isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self.replace("sign", node, f"({self.text(node.operand)})")
        elif isinstance(node.op, ast.USub):
            self.replace("sign", node, self.text(node.operand))
        elif isinstance(node.op, ast.Not):
            self.replace("condition", node, f"bool({self.text(node.operand)})")

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, bool):
            self.replace("constant", node, str(not node.value))
        elif isinstance(node.value, int):
            self.replace("constant", node, str(node.value + 1))
        elif isinstance(node.value, float):
            self.replace("constant", node, repr(2.0 * node.value if node.value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in EXTREMES:
            whole = self.text(node.func)
            self.replace("extreme", node.func, whole[: len(whole) - len(name)] + EXTREMES[name])
        elif name == "range" and node.args:
            last = node.args[min(1, len(node.args) - 1)]
            self.replace("index", last, f"({self.text(last)}) - 1")

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self.visit(node.value)
        index = node.slice
        if isinstance(index, ast.Constant) and isinstance(index.value, int):
            self.replace("index", index, str(index.value - 1 if index.value else 1))
        elif isinstance(index, ast.Tuple) and len(index.elts) == 2:
            first, second = map(self.text, index.elts)
            if not any(isinstance(term, ast.Slice) for term in index.elts):
                self.note(
                    "index", self.span(index.elts[0])[0], self.span(index.elts[1])[1], f"{second}, {first}"
                )
            self.visit(index)
        else:
            self.visit(index)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        self.generic_visit(node)
        for term in node.values:
            self.replace("condition", term, "True" if isinstance(node.op, ast.And) else "False")

    def visit_If(self, node: ast.If) -> None:
        self.generic_visit(node)
        self.replace("condition", node.test, "True")
        self.replace("condition", node.test, "False")

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.generic_visit(node)
        self.replace("condition", node.test, "True")
        self.replace("condition", node.test, "False")

    def visit_While(self, node: ast.While) -> None:
        self.generic_visit(node)
        self.replace("condition", node.test, "False")


COMPARISON_SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!=",
    ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip


def readable(source: str) -> bool:
    """Return whether a text is valid Python."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True
