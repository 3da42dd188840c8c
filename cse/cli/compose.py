"""The command line around Hydra: forgiving about order, strict about names, one sentence for a mistake."""

import atexit
import difflib
import errno
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cse.errors import RunError, UserError

PACKAGE_DIR = Path(__file__).resolve().parents[1]
CONF_DIR = str(PACKAGE_DIR / "conf" if (PACKAGE_DIR / "conf").is_dir() else PACKAGE_DIR.parent / "conf")
SWEEPS_DIR = str(Path(CONF_DIR).parent / "sweeps")
"""conf/ and sweeps/ beside cse/ in a checkout, inside it in an installed wheel."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # a disk, a quota, a file's limit

TAKE_A_VALUE = {"--cfg", "-c", "--config-dir", "-cd", "--config-name", "-cn", "--config-path", "-cp", "--info", "-i",
                "--package", "-p", "--shell-completion", "-sc"}  # fmt: skip


def sort_arguments(arguments: list[str]) -> list[str]:
    """Overrides first, flags after: Hydra's own parser accepts them in no other order."""
    overrides, flags = [], []
    rest = iter(arguments)
    for argument in rest:
        if argument.startswith("-"):
            flags.append(argument)
            if argument in TAKE_A_VALUE:
                flags += [value for value in [next(rest, None)] if value is not None]
        else:
            argument = argument.replace("=~/", f"={Path.home()}/")  # a shell expands ~ only at a word's start
            # Hydra's functions have no capitals: MTEB(eng, v1) is a name, whose quotes the shell took away
            overrides.append(re.sub(r"=([A-Z]\w*\([^()']*\))$", r"='\1'", argument))
    return overrides + flags


def resumed(arguments: list[str]) -> list[str]:
    """`resume=FOLDER` becomes that folder's own overrides, with whatever else is given after them."""
    folders = [argument.removeprefix("resume=") for argument in arguments if argument.startswith("resume=")]
    if not folders or folders[-1] in ("auto", "null", ""):
        return arguments
    record = Path(folders[-1]) / ".hydra" / "overrides.yaml"
    if not record.is_file():
        raise UserError(f"resume={folders[-1]}: this is not a run's folder (no .hydra/overrides.yaml in it)")
    import yaml

    before = yaml.safe_load(record.read_text()) or []
    others = [argument for argument in arguments if not argument.startswith("resume=")]
    known = {argument.partition("=")[0] for argument in others}
    kept = [argument for argument in before if argument.partition("=")[0] not in known | {"resume"}]
    return [*kept, *others, f"hydra.run.dir={folders[-1]}", "resume=auto"]


def of_the_only_evaluator(arguments: list[str]) -> list[str]:
    """`eval=mteb eval.benchmark=NAME` means eval.mteb.benchmark: a key of the one evaluator that is chosen by name."""
    known = {path.stem for path in Path(CONF_DIR, "eval").glob("*.yaml")}
    chosen = [argument.removeprefix("eval=").strip("[]") for argument in arguments if argument.startswith("eval=")]
    if not chosen or chosen[-1] not in known:
        return arguments
    own = re.compile(rf"^eval\.(?!({'|'.join(known)})[.=])")
    return [own.sub(f"eval.{chosen[-1]}.", argument) for argument in arguments]


def following(arguments: list[str]) -> list[str]:
    """Of the processes that torchrun, accelerate or srun started, all but the first write no file and say only errors.

    A folder that was not given is each process's own, named by its clock; the run goes to the first one's.
    """
    if os.environ.get("RANK", "0") == "0":
        return arguments
    logging.disable(logging.WARNING)
    silent = ["hydra.output_subdir=null", f"hydra.job_logging.handlers.file.filename={os.devnull}", *arguments]
    if any(argument.startswith("hydra.run.dir=") for argument in arguments):
        return silent
    nowhere = tempfile.mkdtemp()
    atexit.register(os.rmdir, nowhere)
    return [f"hydra.run.dir={nowhere}", *silent]


def command(config_name: str, task: Callable, arguments: list[str], additions: bool = False) -> int:
    """Compose `config_name` and hand it to `task`. Returns the exit code: 0, 1 (failed run) or 2 (user's mistake).

    additions: whether +key=value is the program's own; a user's is refused.
    """
    os.environ["HYDRA_FULL_ERROR"] = "1"  # exceptions come here whole, and leave as one sentence
    import hydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    try:
        arguments = following(of_the_only_evaluator(resumed(sort_arguments(arguments))))
        if not additions:
            refuse_additions(arguments, config_name)
        sys.argv = [sys.argv[0], *arguments]
        hydra.main(version_base="1.3", config_path=CONF_DIR, config_name=config_name)(ending(task))()
    except UserError as error:
        return complain(str(error), 2)
    except (HydraException, OmegaConfBaseException) as error:
        return complain(explain(error, arguments, config_name), 2)
    except (PermissionError, NotADirectoryError, FileExistsError) as error:  # the run's folder cannot be made
        return complain(f"cannot write {error.filename}: {error.strerror}; set hydra.run.dir to a folder of yours", 2)
    except OSError as error:
        if error.errno not in FULL:
            raise
        where = error.filename or "the run's folder or the cache"
        return complain(f"cannot write {where}: {error.strerror}; free space and run again with resume=auto", 1)
    except KeyboardInterrupt:
        again = "; cse-train resume=FOLDER goes on from the last checkpoint" if config_name == "train" else ""
        return complain(f"stopped{again}", 1)
    return 0


def ending(task: Callable) -> Callable:
    """The task, with our own errors leaving as an exit code: Hydra would print its own lines around them."""

    def job(cfg: Any) -> Any:
        try:
            return task(cfg)
        except UserError as error:
            sys.exit(complain(str(error), 2))
        except RunError as error:
            sys.exit(complain(str(error), 1))

    return job


def complain(message: str, code: int) -> int:
    print(f"{Path(sys.argv[0]).name}: {message}", file=sys.stderr)  # noqa: T201
    return code


def refuse_additions(arguments: list[str], config_name: str) -> None:
    """`+key=value` adds a key, and no key that is missing is read by anything: it is a typing mistake."""
    for argument in arguments:
        if argument.startswith("+"):
            key = argument.lstrip("+").partition("=")[0].partition("@")[0]
            keys = valid_keys(config_name, arguments)
            if not key.startswith("hydra") and key not in keys:
                raise UserError(f"{argument}: there is no key {key}{nearest(key, keys)}")


def explain(error: Exception, arguments: list[str], config_name: str) -> str:
    """One sentence for an error of Hydra or OmegaConf."""
    text = str(error)
    if match := re.search(r"Could not override '([^']+)'", text) or re.search(r"Key '([^']+)' is not in struct", text):
        key = match.group(1)
        return f"there is no key {key}{nearest(key, valid_keys(config_name, arguments))}"
    if match := re.search(r"Could not find '([^']+)'", text):
        group, _, choice = match.group(1).partition("/")
        folder = Path(SWEEPS_DIR if group == "sweep" else CONF_DIR, "" if group == "sweep" else group)
        files = folder.glob("*/*.yaml" if group == "sweep" or "/" in choice else "*.yaml")
        options = sorted(str(path.relative_to(folder).with_suffix("")) for path in files)
        return f"{group}={choice} is not a choice{nearest(choice, options)}; the choices: {', '.join(options)}"
    if match := re.search(r"You must specify '([^']+)'|Missing mandatory value: (\S+)", text):
        return f"{match.group(1) or match.group(2)} is not set: say {match.group(1) or match.group(2)}=..."
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return "; ".join(lines[:2])


def nearest(key: str, keys: list[str]) -> str:
    """The words `did you mean KEY?` with the closest valid key, or nothing."""
    last = {known.rpartition(".")[2]: known for known in keys}
    close = difflib.get_close_matches(key, keys, 1, 0.6)
    close = close or [last[name] for name in difflib.get_close_matches(key.rpartition(".")[2], list(last), 1, 0.7)]
    return f"; did you mean {close[0]}?" if close else ""


def valid_keys(config_name: str, arguments: list[str]) -> list[str]:
    """Every dotted key of the composed config, and the groups; the arguments that choose from groups are followed."""
    from hydra import compose, initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from omegaconf import OmegaConf

    groups = {"sweep", *(path.name for path in Path(CONF_DIR).iterdir() if path.is_dir())}
    chosen = [a for a in arguments if a.partition("=")[0] in groups and "," not in a.partition("[")[0]]
    GlobalHydra.instance().clear()
    with initialize_config_dir(CONF_DIR, version_base="1.3"):
        try:
            config = compose(config_name, chosen)
        except Exception:  # a choice that is itself mistyped
            config = compose(config_name)

    def keys(node: Any, prefix: str = "") -> list[str]:
        if not isinstance(node, dict):
            return []
        return [key for name, child in node.items() for key in (f"{prefix}{name}", *keys(child, f"{prefix}{name}."))]

    return sorted({*keys(OmegaConf.to_container(config, resolve=False)), *groups})
