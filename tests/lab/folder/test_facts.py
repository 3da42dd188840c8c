"""What a run was made of."""

from cse.lab.folder import facts


def test_facts_have_a_kind_and_leave_out_what_a_run_does_not_say(leave, runs):
    leave("a", {"trainer.lr": 1e-4, "trainer.workers": 2, "note": None, "seed": 1}, {"dev/x": 1.0}, code="abcd")
    known = facts.facts(runs()[0])
    assert known["scores", "dev/x"] == 1.0
    assert known["science", "trainer.lr"] == 1e-4
    assert known["machine", "trainer.workers"] == 2
    assert known["versions", "code"] == "abcd"
    assert None not in known.values()


def test_the_checksum_of_the_hubs_data_follows_their_revisions():
    first, second = ({"revisions": {"STS12": revision}} for revision in ("a1", "b2"))
    assert facts.data_digest(first) != facts.data_digest(second)
    assert facts.data_digest({"files": {}}) == ""
    # printf 'aa  x.txt\nbb  y.txt\n' | sha256sum
    files = {"files": {"y.txt": {"sha256": "bb"}, "x.txt": {"sha256": "aa"}, "x.txt + y.txt": {"rows": 2}}}
    assert facts.data_digest(files) == "3d6ca651ba2d032dcf64f44154e405b76624af6fed229900c8211d242fabea39"
