"""What a run sets in its process: the libraries that it silences."""

import logging

from cse.lab.run import this_process
from cse.sources import hub


def test_the_hubs_clients_log_nothing(toy_hub, caplog):
    caplog.set_level(logging.INFO)
    this_process.quiet()
    toy_hub.add("datasets/lab/corpus", {"lines.txt": b"a line\n"})
    hub.fetch_file(hub.Repo("lab/corpus", "dataset", "data=corpus", "use data=text"), "lines.txt")
    assert {record.name for record in caplog.records} == {"cse.sources.hub"}
