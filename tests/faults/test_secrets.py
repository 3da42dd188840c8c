"""Secrets of the environment are in no file of a run, and no setting reaches a shell."""

import ast
from pathlib import Path

import cse

SECRETS = {"HF_TOKEN": "hf_planted0123456789", "WANDB_API_KEY": "planted" * 6, "AWS_SECRET_ACCESS_KEY": "planted-aws"}


def test_a_planted_secret_is_found_nowhere(small_run, cse_train, tmp_path, monkeypatch, capfd):
    for name, secret in SECRETS.items():
        monkeypatch.setenv(name, secret)
    assert cse_train([*small_run, "tracker=[tensorboard,offline]"]) == 0
    told = "".join(capfd.readouterr())
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 10
    for secret in SECRETS.values():
        assert secret not in told
        assert not [path for path in files if secret.encode() in path.read_bytes()]


def test_no_setting_reaches_a_shell(small_run, cse_train, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cse_train([*small_run, "note='$(touch ran) `touch ran` ; touch ran | touch ran'", "dry_run=true"]) == 0
    assert not (tmp_path / "ran").exists()


def calls() -> list[tuple[Path, ast.Call]]:
    """Every call in cse/."""
    files = Path(cse.__file__).parent.rglob("*.py")
    trees = [(file, ast.parse(file.read_text())) for file in files]
    return [(file, node) for file, tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call)]


def test_the_code_unpickles_nothing_and_starts_no_shell():
    refused = {"pickle.load", "pickle.loads", "os.system", "eval", "exec", "yaml.load", "joblib.load", "np.load"}
    for file, call in calls():
        name, keywords = ast.unparse(call.func), {word.arg: ast.unparse(word.value) for word in call.keywords}
        if name == "np.load" and keywords.get("allow_pickle", "False") == "False":
            continue  # refuses pickled arrays unless told otherwise
        assert name not in refused, f"{file}:{call.lineno} {name}"
        assert name != "torch.load" or keywords["weights_only"] == "True", f"{file}:{call.lineno}"
        assert keywords.get("shell", "False") == "False", f"{file}:{call.lineno}"
        assert keywords.get("trust_remote_code", "False") == "False", f"{file}:{call.lineno}"
