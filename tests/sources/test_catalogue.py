"""A copy of one's own is a dataset's if it has anything of it: a reader says what of it is missing."""

import pytest

from cse.errors import MissingResource
from cse.sources.catalogue import DATASETS


@pytest.mark.parametrize("name", ["STS", "SUBJ", "MRPC", "SICK"])
def test_a_folder_with_one_task_is_a_copy_of_sentevals_data(tmp_path, name):
    (tmp_path / "downstream" / name).mkdir(parents=True)
    (tmp_path / "downstream" / name / "a.txt").write_text("a\n")
    about = DATASETS["senteval"]
    about.check_copy(str(tmp_path / "downstream"))
    with pytest.raises(MissingResource, match=rf"STS.*{tmp_path}/downstream"):
        about.check_copy(str(tmp_path))
