"""A copy of one's own is a dataset's if it has anything of it: a reader says what of it is missing."""

import pytest
from omegaconf import OmegaConf

from cse.sources.catalogue import DATASETS


@pytest.mark.parametrize("name", ["STS", "SUBJ", "MRPC", "SICK"])
def test_a_folder_with_one_task_is_a_copy_of_sentevals_data(tmp_path, name):
    (tmp_path / "downstream" / name).mkdir(parents=True)
    (tmp_path / "downstream" / name / "a.txt").write_text("a\n")
    about = DATASETS["senteval"]
    assert about.absent_copy(OmegaConf.create({"paths": {"senteval": str(tmp_path / "downstream")}})) == ""
    told = about.absent_copy(OmegaConf.create({"paths": {"senteval": str(tmp_path)}}))
    assert "STS" in told
    assert "but in its downstream/" in told
