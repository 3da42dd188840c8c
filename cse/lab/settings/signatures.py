"""Read the full names in each parameter's annotation from the source of a signature, without an import.

There are two reasons not to import: torch takes seconds, and a run's folder may name somebody else's code, which must
not run when the folder is read. The module parts.py reads the same signatures from the imported part.
"""

import ast
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import find_spec, resolve_name
from pathlib import Path

Annotation = frozenset[str]
"""The full names in an annotation: {"typing.Annotated", "cse.ranges.Count", "cse.ranges.Mark.MACHINE"}."""


@cache
def declared_by(target: str) -> dict[str, Annotation]:
    """Return the annotation of each parameter of the class or function with this full name.

    A class without a constructor, or with a constructor that passes **settings on, also has the parameters of its
    bases. The fields of a dataclass or a TypedDict count as parameters. Return {} if there is no source.
    """
    full_name, definition = definition_of(target)
    module = full_name.rpartition(".")[0]
    if isinstance(definition, ast.ClassDef):
        return declared_by_class(definition, module)
    return declared_by_function(definition, module) if definition else {}


def declared_by_function(function: ast.FunctionDef, module: str) -> dict[str, Annotation]:
    """Return the annotation of each argument of a function."""
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {argument.arg: names_in_annotation(argument.annotation, module) for argument in arguments}


def declared_by_class(node: ast.ClassDef, module: str) -> dict[str, Annotation]:
    """Return the annotation of each parameter of a class's constructor."""
    declared: dict[str, Annotation] = {}
    passes_on = True
    for statement in node.body:
        if isinstance(statement, ast.AnnAssign):
            declared[ast.unparse(statement.target)] = names_in_annotation(statement.annotation, module)
        if isinstance(statement, ast.FunctionDef) and statement.name == "__init__":
            declared |= declared_by_function(statement, module)
            passes_on = statement.args.kwarg is not None
    for base in node.bases if passes_on else ():
        name = full_name_of(ast.unparse(base), module)
        if name != f"{module}.{node.name}":  # not `class A(A)`, whose base `import *` has imported
            declared = declared_by(name) | declared
    declared.pop("self", None)
    return declared


def names_in_annotation(annotation: ast.expr | None, module: str) -> Annotation:
    """Return the full names in an annotation of a module, also if the annotation is in quotes.

    Text inside the annotation, as in a Literal, contains no names.
    """
    if isinstance(annotation, ast.Constant):
        with suppress(SyntaxError):
            annotation = ast.parse(str(annotation.value), mode="eval").body
    nodes = ast.walk(annotation) if annotation else ()
    names = [ast.unparse(node) for node in nodes if isinstance(node, ast.Name | ast.Attribute)]
    return frozenset(full_name_of(name, module) for name in names)


# From a name to its source


def full_name_of(name: str, module: str) -> str:
    """Return the full name of a name in a module: "cse.ranges.Mark.MACHINE" for "Mark.MACHINE".

    A name that is not imported counts as defined in the module. If a name is imported from another package, that
    package's source is not read, because the sources of typing and torch are long.
    """
    first, dot, rest = name.partition(".")
    target = imports_of(module).get(first, f"{module}.{first}")
    if target.partition(".")[0] == module.partition(".")[0]:
        target, _ = definition_of(target)
    return target + dot + rest


@cache
def definition_of(target: str) -> tuple[str, ast.FunctionDef | ast.ClassDef | None]:
    """Return (full name, definition) of a class or function, even if the module of `target` only imports it.

    For any other name, the definition is None.
    """
    followed: set[str] = set()
    while target not in followed:
        followed.add(target)
        module, _, name = target.rpartition(".")
        for node in tree_of(module).body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
                return target, node
        target = imports_of(module).get(name, target)
    return target, None


@cache
def imports_of(module: str) -> dict[str, str]:
    """Return the full name of each name that a module imports at its top level: {"nn": "torch.nn"}."""
    spec = spec_of(module)
    is_package = spec is not None and spec.submodule_search_locations is not None
    package = module if is_package else module.rpartition(".")[0]
    origins: dict[str, str] = {}
    for node in tree_of(module).body:
        if isinstance(node, ast.Import):
            for name in node.names:
                first = name.name.partition(".")[0]  # `import a.b` imports a; `import a.b as c` imports a.b
                origins[name.asname or first] = name.name if name.asname else first
        if isinstance(node, ast.ImportFrom):
            with suppress(ImportError):  # a relative import that leads out of the package
                origin = resolve_name("." * node.level + (node.module or ""), package)
                origins |= {name.asname or name.name: f"{origin}.{name.name}" for name in node.names}
    return origins


@cache
def tree_of(module: str) -> ast.Module:
    """Return the parsed source of a module; an empty module if there is no source, or if it cannot be parsed.

    The check of a config later imports the part, and so reports the mistake in the source.
    """
    spec = spec_of(module)
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        with suppress(OSError, SyntaxError, ValueError):
            return ast.parse(Path(spec.origin).read_bytes())
    return ast.Module([], [])


def spec_of(module: str) -> ModuleSpec | None:
    """Return a module's spec; None for an unknown module. `find_spec` alone would import the parent packages."""
    package, *inside = module.split(".")
    try:
        spec = find_spec(package) if package else None
    except ValueError:  # raised for __main__
        return None
    for name in inside:
        if spec is None or spec.submodule_search_locations is None:
            return None
        package = f"{package}.{name}"
        spec = PathFinder.find_spec(package, list(spec.submodule_search_locations))
    return spec
