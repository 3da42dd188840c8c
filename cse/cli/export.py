"""cse-export: turn a finished run into a folder that others can load, with card and scores, and push it to the hub."""

import argparse
import logging
import sys
from pathlib import Path

from cse.cli import exits
from cse.columns import PrintableHandler
from cse.errors import MissingResource, UserError
from cse.run import startup

EXAMPLES = """\
  cse-export outputs/DATE/TIME                          into outputs/DATE/TIME/export
  cse-export outputs/DATE/TIME --push ORG/NAME          and onto the hub, with the token of `hf auth login`
  cse-export RUN --scores EVALUATION --license mit      with the scores of a cse-eval of RUN, too
  cse-export RUN --adapter --to FOLDER                  of a run with model.lora: the adapter alone

Exit codes: 0 done, 1 the hub refused or a disk is full, 2 a mistake on the command line.
"""


def main() -> None:
    """The console script. Exit codes: 0 done, 1 the hub or a disk refused, 2 the user's mistake."""
    with exits.exit_on_error():
        arguments = parser().parse_args()
        logging.basicConfig(level=logging.INFO, format="%(message)s", handlers=[PrintableHandler(sys.stdout)])
        sys.exit(task(arguments))


def parser() -> argparse.ArgumentParser:
    """The command line."""
    one = argparse.ArgumentParser(
        "cse-export", description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    one.add_argument("run", type=Path, metavar="RUN", help="the folder of a finished cse-train")
    one.add_argument("--to", type=Path, metavar="FOLDER", help="the folder to fill; RUN/export without it")
    one.add_argument("--push", metavar="ORG/NAME", help="upload it to the hub under this name")
    one.add_argument("--private", action="store_true", help="let a new repository be private")
    one.add_argument("--adapter", action="store_true", help="the adapter alone, of a run with model.lora")
    one.add_argument("--onnx", action="store_true", help="the layers as ONNX too, held to the encoder's own numbers")
    one.add_argument("--scores", type=Path, action="append", default=[], metavar="FOLDER", help="of a cse-eval of RUN")
    one.add_argument("--license", metavar="ID", help="of the weights, as the hub writes it: apache-2.0, mit, ...")
    return one


def task(arguments: argparse.Namespace) -> int:
    """Fill the folder, and upload it."""
    from cse.sharing.export import check_target, export
    from cse.sharing.push import check_name, push

    target = arguments.to or arguments.run / "export"
    check_target(target, arguments.run)
    replaces = target.is_dir() and any(target.iterdir())
    if arguments.push:
        startup.settle_hub()
        check_name(arguments.push)
    if arguments.onnx:
        from cse.sharing.onnx import check_installed

        if arguments.adapter:
            raise UserError("--onnx writes whole weights, and --adapter leaves them out: choose one")
        check_installed()
    startup.quiet()
    files = export(
        arguments.run,
        target,
        name=arguments.push or target.name,
        scores=arguments.scores,
        adapter=arguments.adapter,
        onnx=arguments.onnx,
        license=arguments.license,
    )
    print(f"{target}: {len(files)} files{', in place of the earlier export' if replaces else ''}")
    if "\nlicense: " not in (target / "README.md").read_text(encoding="utf-8"):
        print("the card names no licence for the weights: --license apache-2.0, say")
    if arguments.push:
        try:
            page = push(target, arguments.push, private=arguments.private)
        except MissingResource as error:
            return exits.report_error(str(error), 1)
        print(f"{page}; load it with SentenceTransformer({arguments.push!r})")
    return 0


if __name__ == "__main__":
    main()
