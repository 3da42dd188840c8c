"""Upload a folder to the hub with the token of `hf auth login` or HF_TOKEN, which is written nowhere."""

import logging
import re
from pathlib import Path

from cse.errors import UserError
from cse.sharing.export import WRITTEN
from cse.sources import hub

log = logging.getLogger("cse")

NAME = re.compile(r"[\w.-]+/[\w.-]+")


def check_name(name: str) -> None:
    """Raise UserError for a name that is not ORG/NAME, and if nobody is logged in."""
    from huggingface_hub import get_token

    if not NAME.fullmatch(name):
        raise UserError(f"--push {name} is not ORG/NAME, an organisation or user of the hub and a repository")
    if not get_token():
        raise UserError("--push needs a token with write access: hf auth login, or HF_TOKEN in the environment")


def push(folder: Path, name: str, *, private: bool) -> str:
    """Upload the folder in one commit, into a repository that is created if need be. Returns its address.

    Raises MissingResource if the hub refuses or cannot be reached.
    """
    from huggingface_hub import HfApi

    repo = hub.Repo(name, "model", f"--push {name}", f"the folder {folder} is complete, and can be pushed later")
    with hub.refusals(repo):
        api = HfApi()
        api.create_repo(name, private=private, exist_ok=True)
        api.upload_folder(
            repo_id=name,
            folder_path=folder,
            ignore_patterns=WRITTEN,
            commit_message="Add an encoder that cse trained",
        )
    log.info("hub        %s is at %s", name, repo.page)
    return repo.page
