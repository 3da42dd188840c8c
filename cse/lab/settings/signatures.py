"""What a signature declares of each parameter, read from the source of the part.

Nothing is imported: torch takes seconds, and the folder of a run may name somebody else's code, which reading a run
must not run.
"""

import ast
import re
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path

Annotation = frozenset[str]
"""The names in an annotation: of types, of marks, of what they lie in. {"Annotated", "Count", "Mark", "MACHINE"}."""


@cache
def declared_by(target: str) -> dict[str, Annotation]:
    """The annotation of each parameter of the class or function that a `_target_` names.

    A class that has no constructor, or passes **settings on, has the parameters of its bases, too. The fields of a
    dataclass or a TypedDict count as parameters. Empty where there is no source.
    """
    followed: set[str] = set()
    while target not in followed:
        followed.add(target)
        module, _, name = target.rpartition(".")
        for node in tree_of(module).body:
            if isinstance(node, ast.FunctionDef) and node.name == name:
                return declared_by_function(node)
            if isinstance(node, ast.ClassDef) and node.name == name:
                return declared_by_class(node, module)
        target = imports_of(module).get(name, target)
    return {}


def declared_by_function(node: ast.FunctionDef) -> dict[str, Annotation]:
    """The annotation of each argument of a function."""
    arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return {argument.arg: names_of_annotation(argument.annotation) for argument in arguments}


def declared_by_class(node: ast.ClassDef, module: str) -> dict[str, Annotation]:
    """The annotation of each parameter of a class's constructor."""
    declared: dict[str, Annotation] = {}
    passes_on = True
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            declared[ast.unparse(statement.target)] = names_of_annotation(statement.annotation)
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            declared |= declared_by_function(statement)
            passes_on = statement.args.kwarg is not None
    for base in node.bases if passes_on else ():
        first, dot, rest = ast.unparse(base).partition(".")
        origin = imports_of(module).get(first, f"{module}.{first}")
        if origin != f"{module}.{node.name}":  # class A(A), of a name that `import *` has brought
            declared = declared_by(f"{origin}{dot}{rest}") | declared
    return declared


def names_of_annotation(annotation: ast.expr | None) -> Annotation:
    """The names in an annotation, also in one that is in quotes."""
    return frozenset(re.findall(r"\w+", ast.unparse(annotation) if annotation else ""))


@cache
def imports_of(module: str) -> dict[str, str]:
    """The full name of each name that a module imports at its top: {"nn": "torch.nn"}."""
    spec = spec_of(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    origins: dict[str, str] = {}
    for node in tree_of(module).body:
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]  # `import a.b` brings a, and `import a.b as c` brings a.b
                origins[name.asname or first] = name.name if name.asname else first
        if isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # a relative import that leads out of the package
                origin = resolve_name("." * node.level + (node.module or ""), package)
                origins |= {name.asname or name.name: f"{origin}.{name.name}" for name in node.names}
    return origins


@cache
def classes_of(module: str) -> frozenset[str]:
    """The names of the classes in a module."""
    return frozenset(node.name for node in tree_of(module).body if isinstance(node, ast.ClassDef))


@cache
def tree_of(module: str) -> ast.Module:
    """The source of a module, parsed; empty if it has none here."""
    spec = spec_of(module)
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        with suppress(
            OSError, SyntaxError, ValueError
        ):  # the check of a config imports the part, and says what is wrong
            return ast.parse(Path(spec.origin).read_bytes())
    return ast.Module([], [])


def spec_of(module: str) -> ModuleSpec | None:
    """Where a module's source is. `find_spec` alone would import the packages around it."""
    package, *inside = module.split(".")
    try:
        spec = find_spec(package) if package else None
    except ValueError:  # of __main__
        return None
    for name in inside:
        if spec is None or spec.submodule_search_locations is None:
            return None
        package = f"{package}.{name}"
        spec = PathFinder.find_spec(package, list(spec.submodule_search_locations))
    return spec
