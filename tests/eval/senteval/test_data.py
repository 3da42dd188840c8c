"""SentEval's files as its code reads them: which cells are text, how labels are numbered, how rows are sorted."""

import pytest

from cse.eval.files import senteval_folder
from cse.eval.senteval.data import SNLI_ROWS, TABLES
from cse.eval.transfer import TASKS
from cse.sources.senteval import SICK_FILES

CLASSES = (("MR", "rt-polarity.pos", "rt-polarity.neg"), ("CR", "custrev.pos", "custrev.neg"),
           ("SUBJ", "subj.objective", "subj.subjective"), ("MPQA", "mpqa.pos", "mpqa.neg"))  # fmt: skip
MRPC = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t11\t12\tone two three\tfour five\n0\t13\t14\tsix\tseven\n"
SICK = """pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment
1\ta\tb\t4.5\tENTAILMENT
2\ta b\tc\t1.5\tCONTRADICTION
3\ta b c\td\t3.0\tNEUTRAL
"""
SNLI = {"s1": "a\nb c\nd\ne\n", "s2": "l m n\no\np q\nr s\n", "labels": "entailment\nneutral\nneutral\ncontradiction\n"}
SICK_TEXTS = (["a", "a b", "a b c"], ["b", "c", "d"])


def everywhere(name: str, parts, text: str) -> dict[str, str]:
    """{file: text}, the same text for every part of a data set."""
    return {name.format(part): text for part in parts}


# task: files, split, (sentences of each side), labels
READ = {
    # the first file is class 1; by the number of words, then the label, and equal ones as the files have them;
    # empty sentences stay
    **{
        task: ({f"{task}/{first}": "e d\nd e\ncaf\xe9\n", f"{task}/{second}": "c b\nlonger than  others\n\n"}, "all",
               (["", "caf\xe9", "c b", "e d", "d e", "longer than others"],), [0, 1, 0, 1, 1, 0])
        for task, first, second in CLASSES
    },
    "SST2": (everywhere("SST/binary/sentiment-{}", ("train", "dev", "test"), "c  d \t0\na\t1\nb\t0\n"), "dev",
             (["b", "a", "c d"],), [0, 1, 0]),
    "SST5": (everywhere("SST/fine/sentiment-{}", ("train", "dev", "test"), "4 c  d\n3 a\n2 b\n"), "dev",
             (["b", "a", "c d"],), [2, 3, 4]),
    # the fine label is left out
    "TREC": (everywhere("{}", [name for name, _ in TABLES["TREC"].files.values()],
                        "NUM:dist How far is it ?\nABBR:exp What is UN ?\nHUM:ind Who  sang ?\n"), "test",
             (["Who sang ?", "What is UN ?", "How far is it ?"],), [3, 0, 5]),
    "MRPC": (everywhere("MRPC/msr_paraphrase_{}.txt", ("train", "test"), MRPC), "train",
             (["six", "one two three"], ["seven", "four five"]), [0, 1]),
    "SICK-E": (everywhere("SICK/{}.txt", [stem for stem, _ in SICK_FILES.values()], SICK), "dev",
               SICK_TEXTS, [2, 0, 1]),
    "SICKRelatedness": (everywhere("SICK/{}.txt", [stem for stem, _ in SICK_FILES.values()], SICK), "dev",
                        SICK_TEXTS, [4.5, 1.5, 3.0]),
    "STSBenchmark": (everywhere("STS/STSBenchmark/sts-{}.csv", ("train", "dev", "test"),
                                "g\tf\ty\t1\t4.25\ta  b\tc\ng\tf\ty\t2\t0.5\td\te\n"), "train",
                     (["d", "a b"], ["e", "c"]), [0.5, 4.25]),
    # by the second sentence first, then by the first, then by the label's name: contradiction, entailment, neutral
    "SNLI": ({f"SNLI/{side}.{split}": text for side, text in SNLI.items() for split in SNLI_ROWS}, "dev",
             (["b c", "e", "d", "a"], ["o", "r s", "p q", "l m n"]), [1, 2, 1, 0]),
}  # fmt: skip


@pytest.mark.parametrize("task", TASKS)
def test_texts_labels_and_order_are_sentevals(tmp_path, task):
    files, split, sentences, labels = READ[task]
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(text.encode("utf-8" if task == "MRPC" else "latin-1"))
    examples = TASKS[task].read(senteval_folder(str(tmp_path), allow_partial=True))[split]
    assert (examples.sentences, examples.labels_N.tolist()) == (sentences, labels)
