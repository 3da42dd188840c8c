"""SentEval's files as its code reads them: which cells are text, which number a label is, in which order rows come."""

import pytest

from cse.eval.senteval import transfer_data
from cse.eval.senteval.folder import SentEvalFolder
from cse.eval.senteval.pairs import read_sickr


@pytest.fixture
def read(tmp_path):
    """read(reader, {file: text}) -> (sentences of each side, labels) of a split of the made-up files."""

    def parts(reader, files, split, **more):
        for name, text in files.items():
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_text(text)
        examples = reader(SentEvalFolder(str(tmp_path), allow_partial=True), **more)[split]
        return examples.sentences, examples.labels_N.tolist()

    return parts


def test_trec_reads_the_coarse_label_and_leaves_out_the_fine_one(read):
    text = "NUM:dist How far is it ?\nABBR:exp What is UN ?\nHUM:ind Who  sang ?\n"
    files = {f"TREC/{name}": text for name, _ in transfer_data.TREC_FILES.values()}
    assert read(transfer_data.read_trec, files, "test") == (
        (["Who sang ?", "What is UN ?", "How far is it ?"],),
        [3, 0, 5],
    )


@pytest.mark.parametrize("task", transfer_data.BINARY)
def test_the_first_file_of_two_is_class_1(read, task):
    """Positive, or objective; rows by their number of words, then by label."""
    first = {"MR": "rt-polarity.pos", "CR": "custrev.pos", "SUBJ": "subj.objective", "MPQA": "mpqa.pos"}[task]
    second = {"MR": "rt-polarity.neg", "CR": "custrev.neg", "SUBJ": "subj.subjective", "MPQA": "mpqa.neg"}[task]
    files = {f"{task}/{first}": "d e\na\n", f"{task}/{second}": "c b\nlonger than  others\n"}
    read_task = read(transfer_data.read_binary, files, "all", task=task)
    assert read_task == ((["a", "c b", "d e", "longer than others"],), [1, 0, 1, 0])


def test_mrpc_reads_its_last_two_cells(read):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    text = header + "1\t11\t12\tone two three\tfour five\n0\t13\t14\tsix\tseven\n"
    files = {f"MRPC/msr_paraphrase_{split}.txt": text for split in ("train", "test")}
    assert read(transfer_data.read_mrpc, files, "train") == ((["six", "one two three"], ["seven", "four five"]), [0, 1])


def test_sick_numbers_contradiction_neutral_entailment(read):
    header = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
    rows = ["1\ta\tb\t4.5\tENTAILMENT", "2\ta b\tc\t1.5\tCONTRADICTION", "3\ta b c\td\t3.0\tNEUTRAL"]
    files = {f"SICK/{stem}.txt": header + "\n".join(rows) + "\n" for stem, _ in transfer_data.SICK_FILES.values()}
    sentences = ["a", "a b", "a b c"], ["b", "c", "d"]
    assert read(transfer_data.read_sick_entailment, files, "dev") == (sentences, [2, 0, 1])
    assert read(transfer_data.read_scored, files, "dev", read=read_sickr) == (sentences, [4.5, 1.5, 3.0])


def test_snli_is_sorted_by_the_second_sentence_first(read):
    """Then by the first, then by the label's name: contradiction, entailment, neutral."""
    sides = {"s1": ["a", "b c", "d", "e"], "s2": ["l m n", "o", "p q", "r s"]}
    sides["labels"] = ["entailment", "neutral", "neutral", "contradiction"]
    files = {
        f"SNLI/{side}.{split}": "\n".join(lines) + "\n"
        for side, lines in sides.items()
        for split in transfer_data.SNLI_ROWS
    }
    assert read(transfer_data.read_snli, files, "dev") == (
        (["b c", "e", "d", "a"], ["o", "r s", "p q", "l m n"]),
        [1, 2, 1, 0],
    )
