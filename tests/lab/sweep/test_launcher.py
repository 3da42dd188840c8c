"""What hydra.launcher.* may ask of SLURM."""

import pytest

from cse.errors import UserError
from cse.lab.sweep import line
from cse.lab.sweep.launcher import parameters_of

LINE = "-m seed=1,2,3 hydra/launcher=submitit_slurm"


def line_of(*launch: str) -> line.Line:
    return line.read([*LINE.split(), *(f"hydra.launcher.{word}" for word in launch)], "cse-train")


@pytest.mark.parametrize(("word", "named"), [
    ("partition='a\n#SBATCH --uid=0'", "partition"), ("timeout_min=null", "timeout_min"), ("nodes=two", "nodes"),
    ("nodes=-5", "nodes"), ("max_num_timeout=x", "max_num_timeout"), ("array_parallelism=0", "array_parallelism"),
    ("partitoin=gpu", "partition"), ("time=5", "timeout_min"), ("gpus=1", "gpus_per_node"),
    ("gpus_per_node=a100:0", "gpus_per_node"), ("conda=x", "setup and python"), ("mem_gb=64G", "gigabytes"),
    ("additional_parameters=x", "OPTION"), ("additional_parameters={mail-type: END}", "write hydra.launcher.mail_type"),
    ("additional_parameters={time: 60}", "write hydra.launcher.timeout_min"),
    ("python='conda run -n cse'", "interpreter"),
])  # fmt: skip
def test_values_cannot_add_lines_to_the_script_and_numbers_are_checked(word, named):
    with pytest.raises(UserError, match=named):
        parameters_of(line_of(word))


@pytest.mark.parametrize("words", [("gres=gpu:2", "gpus_per_node=1"), ("mem_gb=32", "mem_per_gpu=16G")])
def test_gpus_and_memory_are_asked_for_once(words):
    with pytest.raises(UserError, match="both ask for"):
        parameters_of(line_of(*words))


def test_null_unsets_what_an_earlier_word_asked_for():
    unset = ("gpus_per_node=null", "python=null", "additional_parameters=null", "setup=null")
    found = parameters_of(line_of("gpus_per_node=2", "gres=gpu:2", *unset))
    assert found["gres"] == "gpu:2"
    assert "gpus_per_node" not in found
