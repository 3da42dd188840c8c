"""What depends on a machine's GPUs, on made-up machines."""

from itertools import groupby
from types import SimpleNamespace

import pytest
import torch
from accelerate import Accelerator
from omegaconf import OmegaConf

from cse import device
from cse.errors import UserError
from cse.lab.folder.runs import read_run
from cse.lab.run.announce import precision_in_words
from cse.lab.run.train import precision_of, set_up_torch
from cse.model.encoder import Encoder


@pytest.fixture
def gpus(monkeypatch):
    """A function that pretends to have some GPUs of a compute capability."""

    def see(count: int, capability: tuple[int, int] = (8, 0)) -> None:
        about = SimpleNamespace(major=capability[0], minor=capability[1])
        monkeypatch.setattr(torch.cuda, "is_available", lambda: count > 0)
        monkeypatch.setattr(torch.cuda, "device_count", lambda: count)
        monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
        monkeypatch.setattr(torch.cuda, "get_device_properties", lambda *_: about)
        monkeypatch.setattr(torch.version, "cuda", "13.0")

    return see


@pytest.mark.parametrize(("capability", "precision"), [((7, 0), "fp32"), ((7, 5), "fp32"), ((8, 0), "bf16")])
def test_precision_auto_is_bf16_only_on_a_gpu_that_computes_in_it(capability, precision, gpus):
    gpus(1, capability)
    assert precision_of("auto") == precision
    assert precision_of("fp16") == "fp16"


@pytest.mark.parametrize(
    ("has", "precision"),
    [({"avx2": True, "avx512_bf16": False}, "fp32"), ({"avx512_bf16": True}, "bf16"), ({"amx_bf16": True}, "bf16")],
)
def test_precision_auto_is_bf16_only_on_a_cpu_that_computes_in_it(has, precision, gpus, monkeypatch):
    gpus(0)
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: has)
    assert precision_of("auto") == precision


def test_without_a_gpu_only_a_trial_of_a_run_accepts_fp16(gpus, caplog):
    gpus(0)
    with pytest.raises(UserError, match="fp16 needs a GPU"):
        precision_of("fp16")
    with caplog.at_level("INFO", logger="cse"):
        assert precision_of("fp16", is_trial=True) == "fp32"
    assert "fp16 needs a GPU" in caplog.text


@pytest.mark.parametrize("emulated", [True, False])
def test_a_run_says_that_bf16_is_emulated(emulated, gpus, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", dict if emulated else lambda: {"amx_bf16": True})
    assert ("emulated" in precision_in_words("bf16")) == emulated
    assert precision_in_words("fp32") == "fp32"


def test_a_resumed_run_keeps_the_precision_it_began_with(cse_train, small_run, tmp_path, monkeypatch):
    monkeypatch.setattr("torch.cpu.get_capabilities", lambda: {"avx512_bf16": True})
    assert cse_train([*small_run, "trainer.precision=auto", "trainer.max_steps=1"]) == 0
    monkeypatch.setattr("torch.cpu.get_capabilities", dict)
    assert cse_train([f"resume={tmp_path}/run", "trainer.max_steps=2"]) == 0
    assert read_run(tmp_path / "run").results["precision"] == "bf16"


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
def test_dev_scores_are_in_bf16_where_a_cpu_trains_in_it_and_test_scores_never(
    precision, cse_train, small_run, monkeypatch
):
    used, encode = [], Encoder.encode

    def recording(self, *given, precision="fp32", **more):
        used.append(precision)
        return encode(self, *given, precision=precision, **more)

    monkeypatch.setattr(Encoder, "encode", recording)
    assert cse_train([*small_run, "trainer.max_steps=1", f"trainer.precision={precision}"]) == 0
    changes = [key for key, _ in groupby(used)]
    assert changes == (["fp32", "bf16", "fp32"] if precision == "bf16" else ["fp32"])  # untrained, step 1, best/


def test_more_processes_than_gpus_are_refused_before_any_work(gpus, cse_train, small_run, tmp_path, capsys):
    gpus(2)
    assert cse_train([*small_run, "trainer.devices=4"]) == 2
    assert "trainer.devices=4" in capsys.readouterr().err
    assert not (tmp_path / "run").exists()
    device.check_gpu_per_process("trainer.devices", 2)
    with pytest.raises(UserError, match="LOCAL_WORLD_SIZE=3"):
        device.check_gpu_per_process("LOCAL_WORLD_SIZE", 3)
    gpus(0)
    device.check_gpu_per_process("trainer.devices", 4)


def test_a_run_forbids_tf32_in_convolutions(cse_train, small_run, monkeypatch):
    seen = []

    def started(**asked):
        seen.append(torch.backends.cudnn.allow_tf32)
        return Accelerator(**asked)

    monkeypatch.setattr("cse.lab.run.train.Accelerator", started)
    assert cse_train([*small_run, "dry_run=true"]) == 0
    assert seen == [False]


ASKED_OF_ACCELERATE = {
    "ACCELERATE_GRADIENT_ACCUMULATION_STEPS": "4",
    "ACCELERATE_MIXED_PRECISION": "bf16",
    "ACCELERATE_DYNAMO_BACKEND": "inductor",
    "ACCELERATE_TORCH_DEVICE": "meta",
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "ACCELERATE_USE_DEEPSPEED": "true",
    "ACCELERATE_USE_MEGATRON_LM": "true",
    "ACCELERATE_USE_PARALLELISM_CONFIG": "true",
    "PARALLELISM_CONFIG_TP_SIZE": "2",
    "ACCELERATE_USE_SAGEMAKER": "true",
    "ACCELERATE_DEBUG_MODE": "true",
    "ACCELERATE_FP8_FORMAT": "E4M3",
}


def test_no_variable_of_accelerate_changes_a_run(monkeypatch, caplog, gpus):
    """huggingface/accelerate#1011: its launcher and configuration file set variables that divide every gradient."""
    gpus(0)
    monkeypatch.setenv("ACCELERATE_DYNAMO_MODE", "default")  # what its launcher sets unasked is not worth a word
    for name, value in ASKED_OF_ACCELERATE.items():
        monkeypatch.setenv(name, value)
    cfg = OmegaConf.create({"trainer": {"deterministic": False, "precision": "fp32"}})
    set_up_torch(cfg)
    accelerator = Accelerator(mixed_precision="no")
    weight = torch.ones(2, requires_grad=True)
    accelerator.backward(weight.sum())
    assert weight.grad.tolist() == [1, 1]
    assert (accelerator.mixed_precision, accelerator.device) == ("no", torch.device("cpu"))
    assert accelerator.distributed_type == "NO"
    assert all(f"{name}={value}" in caplog.text for name, value in ASKED_OF_ACCELERATE.items())
    assert "DYNAMO_MODE" not in caplog.text


def test_a_macs_gpu_is_not_used(gpus, monkeypatch):
    gpus(0)
    monkeypatch.setattr("accelerate.state.is_mps_available", lambda: True)
    cfg = OmegaConf.create({"trainer": {"deterministic": False, "precision": "auto"}})
    set_up_torch(cfg)
    assert Accelerator(mixed_precision="no").device == torch.device("cpu")


@pytest.mark.parametrize(
    ("on", "cards", "cores", "workers"),
    [("cpu", 0, 64, 0), ("cuda", 1, 64, 4), ("cuda", 8, 32, 3), ("cuda", 1, 1, 0), ("cuda", 2, 2, 0)],
)
def test_only_a_run_on_a_gpu_has_data_workers_and_shares_the_cores(on, cards, cores, workers, gpus, monkeypatch):
    gpus(cards)
    monkeypatch.setattr(device, "usable_cores", lambda: cores)
    assert device.data_workers(torch.device(on)) == workers
