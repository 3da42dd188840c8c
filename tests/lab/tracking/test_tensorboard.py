"""TensorBoard's files, read back by TensorBoard."""

import matplotlib.pyplot as plt
import pytest

from cse.lab.tracking.run_info import RunInfo
from cse.lab.tracking.tensorboard import Tensorboard


@pytest.fixture
def read():
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    return lambda folder: EventAccumulator(str(folder / "tensorboard"), size_guidance={"scalars": 0}).Reload()


def about(config):
    return RunInfo("train", config, "cse-train", None, {})


def test_curves_plots_tables_and_hparams_are_read_back(tmp_path, read):
    plt.imsave(tmp_path / "loss.png", [[0.0, 1.0], [1.0, 0.0]])
    run = Tensorboard(tmp_path, about({"seed": 3, "objective": {"temperature": 0.05, "head": None}}))
    run.log({"train/loss": 0.5, "dev/stsb/spearman": 79.0}, 1)
    run.log({"train/loss": 0.25}, 2)
    run.image("loss", tmp_path / "loss.png", 2)
    run.table("scores", ["task", "score"], [["STS12", 70.1]])
    run.log({"test/sts/average": 76.25}, 1)  # of the best step
    run.finish(0, {"test/sts/average": 76.25, "dev/stsb/spearman": 79.0, "note": "text is no score"})
    events = read(tmp_path)
    assert [(e.step, e.value) for e in events.Scalars("train/loss")] == [(1, 0.5), (2, 0.25)]
    assert [(e.step, e.value) for e in events.Scalars("test/sts/average")] == [(1, 76.25)]
    assert [(e.step, e.value) for e in events.Scalars("dev/stsb/spearman")] == [(1, 79.0)]
    assert [(e.step, e.value) for e in events.Scalars("hparam/dev/stsb/spearman")] == [(2, 79.0)]
    assert events.Tags()["images"] == ["loss"]
    assert b"| STS12 | 70.1 |" in events.Tensors("scores/text_summary")[0].tensor_proto.string_val[0]
    plugin = events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    for text in (b"objective.temperature", b"seed", b"done"):
        assert text in plugin


def test_a_resumed_run_hides_steps_after_its_checkpoint(tmp_path, read):
    run = Tensorboard(tmp_path, about({}))
    for step in range(5):
        run.log({"train/loss": float(step)}, step)
    run.writer.close()
    run = Tensorboard(tmp_path, about({}), resume_step=2)
    run.log({"train/loss": 30.0}, 3)
    run.writer.close()
    assert [e.value for e in read(tmp_path).Scalars("train/loss")] == [0.0, 1.0, 2.0, 30.0]
