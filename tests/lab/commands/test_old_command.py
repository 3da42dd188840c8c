"""Another trainer's command is refused with the command of cse, which composes, with the person's own values."""

import shlex
from pathlib import Path

import pytest
import yaml
from hydra._internal.utils import get_args_parser
from hydra.utils import get_class
from typed import exit_code

from cse.errors import UserError
from cse.lab.commands.old_command import READS_SCORES, Old, refuse_old_command, translate
from cse.lab.settings.arguments import parse_argument
from cse.lab.settings.command import HYDRAS_FLAGS
from cse.lab.settings.compose import composed
from cse.lab.settings.groups import KINDS, choices, file_of, is_group
from cse.lab.settings.lookup import keys_of_command, settings_of_command, trainers
from cse.lab.settings.values import BOOLEANS
from cse.training.settings import in_steps

LOOP = (
    "--max_seq_length 32 --evaluation_strategy steps --metric_for_best_model stsb_spearman --load_best_model_at_end "
    "--eval_steps 125 --pooler_type cls --overwrite_output_dir --temp 0.05 --do_train --do_eval --fp16"
)
UNSUP = (
    "python train.py --model_name_or_path bert-base-uncased --train_file data/wiki1m_for_simcse.txt --output_dir "
    "result/my-unsup-simcse --num_train_epochs 1 --per_device_train_batch_size 64 --learning_rate 3e-5 "
    f"--mlp_only_train {LOOP}"
)
SUP = (
    "python -m torch.distributed.launch --nproc_per_node 4 --master_port 1234 train.py --model_name_or_path "
    "roberta-large --train_file data/nli_for_simcse.csv --output_dir result/my-sup-simcse --num_train_epochs 3 "
    f"--per_device_train_batch_size 128 --learning_rate 5e-5 {LOOP}"
)
ENCODER = "--model_name_or_path x --bf16 --learning_rate 1e-5 --per_device_train_batch_size 64"
"""The flags without which the offered command has the trainer's defaults."""


@pytest.fixture(autouse=True)
def every_gpu(monkeypatch):
    """Hide the GPUs of this machine's environment from the commands."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)


def refusal(program: str, line: str) -> str:
    """What the command says."""
    with pytest.raises(UserError) as refused:
        refuse_old_command(shlex.split(line), KINDS[program])
    return str(refused.value)


def offered(program: str, line: str) -> list[str]:
    """The texts of the command that the refusal offers, as a shell reads them."""
    message = refusal(program, line)
    what = (
        "The nearest command in cse, without the untranslated flags:"
        if "Not translated" in message
        else "The same command in cse:"
    )
    _, found, command = message.partition(f"{what}\n\n")
    assert found
    return shlex.split(command.partition("\n\n")[0].replace("\\\n", ""))


@pytest.mark.parametrize(("program", "line", "command"), [
    ("cse-train", UNSUP,
     "cse-train model=bert data=wiki1m hydra.run.dir=result/my-unsup-simcse trainer.epochs=1 trainer.batch_size=64 "
     "trainer.lr=3e-5 objective.keep_head=false trainer.max_length=32 trainer.select=stsb trainer.eval_every=125 "
     "model.pooling=cls objective.temperature=0.05 trainer.precision=fp16"),
    ("cse-train", SUP,
     "cse-train trainer.devices=4 trainer.gather_scale=paper model=roberta_large data=nli objective=simcse_sup "
     "hydra.run.dir=result/my-sup-simcse trainer.epochs=3 trainer.batch_size=512 trainer.lr=5e-5 trainer.max_length=32 "
     "trainer.select=stsb trainer.eval_every=125 model.pooling=cls objective.temperature=0.05 trainer.precision=fp16"),
    ("cse-train", "--train_file=no/such.tsv --hard_negative_weight=1 --pooler_type=avg seed=3 --weight_decay 0.1",
     "cse-train data=text data.path=no/such.tsv objective=simcse_sup "
     "objective.hard_negative_weight=1 model.pooling=mean objective.head=null trainer.weight_decay=0.1 "
     "trainer.no_decay=[bias,LayerNorm.weight] seed=3"),
    ("cse-train", "--mlm_weight 0.2 --do_mlm --max_steps -1 --load_best_model_at_end False --bf16 false",
     "cse-train objective.mlm_weight=0.2 model.lm_head=copy trainer.select=null"),
    ("cse-train", "--metric_for_best_model avg_sts --temp 0.1",
     "cse-train eval.stsb.with_sickr=true trainer.select=dev/stsb/average objective.temperature=0.1"),
    ("cse-train", "--mlm_weight 0.2 --temp 0.1 --max_steps 9",
     "cse-train objective.temperature=0.1 trainer.max_steps=9 trainer.schedule_steps=9 trainer.epochs=9"),
    ("cse-train", "--model_name_or_path x --num_train_epochs 1 --max_steps 9 --bf16 --load_best_model_at_end True "
     "--per_device_train_batch_size 64 --learning_rate 1e-5 --evaluation_strategy no",
     "cse-train model.name=x trainer.max_steps=9 trainer.schedule_steps=9 trainer.epochs=9 trainer.precision=bf16 "
     "trainer.batch_size=64 trainer.lr=1e-5"),
    ("cse-train", "--model_name_or_path bert-base-uncased --mlp_only_train False --num_train_epochs 1 "
     "--learning_rate 3e-5 --per_device_train_batch_size 64",
     "cse-train model=bert trainer.epochs=1 trainer.lr=3e-5 trainer.batch_size=64 trainer.precision=fp32 "
     "trainer.select=null model.pooling=cls objective.keep_head=true"),
    ("cse-train", "--model_name_or_path x --train_file y.txt --num_pos 3 --num_train_epochs 1 --learning_rate 1e-5",
     "cse-train objective=whitenedcse model.name=x data=text data.path=y.txt objective.m=3 trainer.epochs=1 "
     "trainer.lr=1e-5 trainer.batch_size=8 trainer.select=null model.pooling=cls"),
    ("cse-train", "--model org/name --bf16 --num_train_epochs 1 --load_best_model_at_end --learning_rate 3e-5",
     "cse-train model.name=org/name trainer.precision=bf16 trainer.epochs=1 trainer.lr=3e-5 trainer.batch_size=8"),
    ("cse-train", "--temp 0.1 --model minilm --num_train_epochs 1 --bf16 --load_best_model_at_end --learning_rate 1e-5 "
     "--train_batch_size 4 --mlp_only_train",
     "cse-train objective.temperature=0.1 model=minilm trainer.epochs=1 trainer.precision=bf16 trainer.lr=1e-5 "
     "trainer.batch_size=4 objective.keep_head=false model.pooling=cls"),
    ("cse-train", f"{ENCODER} --num_train_epochs 1 --load_best_model_at_end --pooler_type avg",
     "cse-train model.name=x trainer.precision=bf16 trainer.lr=1e-5 trainer.batch_size=64 trainer.epochs=1 "
     "model.pooling=mean objective.head=null"),
    ("cse-eval", "--model org/name --pooler avg",
     "cse-eval checkpoint=org/name pooling=mean eval=sts splits=[test]"),
    ("cse-train", "--lr 3e-5 --trainer.epochs 2 --dataloader_drop_last -m seed=1,2",
     "cse-train trainer.lr=3e-5 trainer.epochs=2 trainer.drop_last=true -m seed=1,2"),
    ("cse-train", "CUDA_VISIBLE_DEVICES=0 torchrun --standalone train.py --image_bsz 48 --supcon_temperature=0.05",
     "CUDA_VISIBLE_DEVICES=0 cse-train aux_modality=visual aux_modality.data.batch_size=48 "
     "aux_modality.temperature=0.05"),
    ("cse-eval", "python evaluation.py --model_name_or_path a/b --pooler cls --task_set sts --mode test",
     "cse-eval checkpoint=a/b pooling=pooler eval=sts splits=[test]"),
    ("cse-eval", "--model_name_or_path=a/b", "cse-eval checkpoint=a/b pooling=pooler eval=sts splits=[test]"),
    ("cse-eval", "--pooler=avg_top2 --task_set na --tasks STS12 STSBenchmark MR SST2 --mode fasttest",
     "cse-eval pooling=avg_top2 eval=[sts,transfer] eval.sts.tasks=[STS12,STS-B] eval.transfer.tasks=[MR,SST2] "
     "splits=[test] eval.transfer.mode=fast"),
    ("cse-eval", "--task_set na --model_name_or_path a --mode fasttest",
     "cse-eval checkpoint=a splits=[test] eval.transfer.mode=fast pooling=pooler eval=[sts,transfer]"),
    ("cse-eval", "--task_set full --tasks MR --model_name_or_path a",
     "cse-eval eval=[sts,transfer] checkpoint=a pooling=pooler splits=[test]"),
    ("cse-eval", "--tasks MR STS12 --model_name_or_path a",
     "cse-eval checkpoint=a pooling=pooler eval=sts splits=[test]"),
    ("cse-eval", "--tasks STSBenchmark,MR, CR --task_set na --model_name_or_path a",
     "cse-eval eval=[sts,transfer] eval.sts.tasks=[STS-B] eval.transfer.tasks=[MR,CR] checkpoint=a pooling=pooler "
     "splits=[test]"),
    ("cse-train", f"{ENCODER} --num_train_epochs 3 --eval_strategy epoch --save_strategy epoch --eval_steps 9 "
     "--load_best_model_at_end",
     "cse-train model.name=x trainer.precision=bf16 trainer.lr=1e-5 trainer.batch_size=64 trainer.epochs=3 "
     "trainer.eval_every=0.333333"),
    ("cse-train", f"{ENCODER} --num_train_epochs 1 --evaluation_strategy epoch",
     "cse-train model.name=x trainer.precision=bf16 trainer.lr=1e-5 trainer.batch_size=64 trainer.epochs=1 "
     "trainer.eval_every=0.999999 trainer.watch=[stsb] trainer.select=null"),
    ("cse-train", "accelerate launch --multi_gpu --num_processes 2 --mixed_precision=no train.py --train_batch_size 4",
     "cse-train trainer.devices=2 trainer.gather_scale=paper trainer.precision=fp32 trainer.batch_size=8"),
    ("cse-train", "CUDA_VISIBLE_DEVICES=1,2 python -u train.py --num_pos 3 --mlp_only_train "
     "--gradient_accumulation_steps 2",
     "CUDA_VISIBLE_DEVICES=1,2 cse-train objective=whitenedcse objective.m=3 objective.pooler=cls_before_mlp "
     "trainer.accumulate=4"),
    ("cse-eval", "--model_name_or_path a --mode dev",
     "cse-eval checkpoint=a splits=[dev] eval.stsb.with_sickr=true pooling=pooler eval=stsb"),
    ("cse-eval", "torchrun --nproc_per_node 4 --standalone evaluation.py --model_name_or_path a --mode dev "
     "--task_set transfer", "cse-eval checkpoint=a splits=[test] eval.transfer.mode=fast eval=transfer pooling=pooler"),
    ("cse-eval", "--task_set na --tasks STSBenchmark MR --mode dev",
     "cse-eval eval=[stsb,transfer] eval.transfer.tasks=[MR] splits=[dev,test] eval.stsb.with_sickr=true "
     "eval.transfer.mode=fast"),
    ("cse-train", "--temp 0.1 --train_file data/wiki1m_for_simcse.txt --hard_negative_weight 1 --weight_decay 0.1",
     "cse-train objective.temperature=0.1 data=wiki1m trainer.weight_decay=0.1 "
     "trainer.no_decay=[bias,LayerNorm.weight]"),
    ("cse-train", "--loss MultipleNegativesRankingLoss --scale 20.0 --learning_rate 2e-5",
     "cse-train objective=simcse_sup objective.head=null objective.temperature=0.05 trainer.lr=2e-5 "
     "trainer.batch_size=8 trainer.precision=fp32 trainer.select=null eval=[]"),
    ("cse-train", "--loss CoSENTLoss --max_seq_length 99 --warmup_ratio 0.1 --load_best_model_at_end",
     "cse-train objective=cosent trainer.max_length=99 trainer.warmup=0.1 trainer.epochs=3 trainer.batch_size=8 "
     "trainer.lr=5e-5 trainer.schedule=linear trainer.eps=1e-8 trainer.clip=1 trainer.precision=fp32"),
    ("cse-train", "--model_name_or_path x --bf16 objective=cosent",
     "cse-train model.name=x trainer.precision=bf16 trainer.epochs=3 trainer.batch_size=8 trainer.lr=5e-5 "
     "trainer.schedule=linear trainer.warmup=0 trainer.weight_decay=0 trainer.eps=1e-8 trainer.clip=1 "
     "trainer.select=null objective=cosent"),
    ("cse-train", "--loss losses.AnglELoss --fp16",
     "cse-train objective=angle objective.cosine_weight=0 objective.negatives_weight=0 "
     "objective.angle_temperature=0.05 trainer.precision=fp16 trainer.epochs=3 trainer.batch_size=8 trainer.lr=5e-5 "
     "trainer.warmup=0 trainer.select=null eval=[]"),
    ("cse-train", "--method vicreg --method_kwargs.sim_loss_weight 25 --method_kwargs.var_loss_weight 25.0 "
     "--method_kwargs.cov_loss_weight 1",
     "cse-train objective=vicreg objective.invariance=25 objective.norm=reference objective.variance=50 "
     "objective.covariance=1"),
    ("cse-train", "--matryoshka_dims 96 192 384 --matryoshka_weights 1 0.5 0.5",
     "cse-train objective.widths=[96,192,384] objective.width_weights=[1,0.5,0.5]"),
    ("cse-train", "--matryoshka_dims 96 --matryoshka_weights [1]",
     "cse-train objective.widths=[96] objective.width_weights=[1]"),
    ("cse-train", "--loss MNRL --scale 30 --max_seq_length 64",
     "cse-train objective=simcse_sup objective.head=null objective.temperature=0.0333333333 trainer.max_length=64 "
     "trainer.batch_size=8 trainer.precision=fp32 trainer.select=null eval=[]"),
    ("cse-train", "--temp 0.1 --eval_transfer",
     "cse-train objective.temperature=0.1 eval=[stsb,sts,transfer] eval.transfer.mode=fast"),
    ("cse-train", "--temp 0.1 --eval_transfer false", "cse-train objective.temperature=0.1"),
    ("cse-train", "--train_file data/nli_for_simcse.csv --hard_negative_weight 1 --weight_decay 0.0",
     "cse-train data=nli objective=simcse_sup objective.hard_negative_weight=1 trainer.weight_decay=0"),
])  # fmt: skip
def test_the_offered_command_has_the_old_values_and_composes(program, line, command):
    texts = offered(program, line)
    assert texts == command.split()
    start = texts.index(program) + 1
    composed(KINDS[program], [text for text in texts[start:] if "=" in text and "seed=1,2" not in text])
    lines = refusal(program, line).splitlines()
    assert max(map(len, lines)) <= 80
    for flag in [text.partition("=")[0] for text in shlex.split(line) if text.startswith("--")]:
        assert any(flag in text for text in lines), flag
    assert exit_code(program, *shlex.split(line)) == 2


@pytest.mark.parametrize(
    ("program", "line", "command"),
    [
        (
            "cse-train",
            "--image_contrastive_method SupCon --new_supcon",
            "aux_modality=visual aux_modality.loss=rank_ce",
        ),
        (
            "cse-train",
            "--pooler_type cls_before_pooler --mlp_only_train",
            "model.pooling=cls objective.head=null",
        ),
        ("cse-eval", "--task_set sts --mode fasttest", "eval=sts splits=[test]"),
    ],
)
def test_a_flag_without_an_effect_there_is_no_gap(program, line, command):
    assert "Not translated" not in refusal(program, line)
    assert offered(program, line) == [program, *command.split()]


@pytest.mark.parametrize("epochs", [1, 2, 3, 7, 10, 49])
def test_a_score_after_every_epoch_is_a_share_of_the_schedule(epochs):
    _, *settings = offered("cse-train", f"--num_train_epochs {epochs} --evaluation_strategy epoch")
    share = composed("train", settings).trainer.eval_every
    assert [in_steps(share, epochs * steps) for steps in (1, 125, 4341)] == [1, 125, 4341]


def test_a_flag_without_its_value_sets_only_a_switch():
    switches = {one.key for kind in KINDS.values() for one in settings_of_command(kind) if one.value in BOOLEANS}
    for row in [row for _, rows in trainers().values() for row in rows]:
        for name in row.arguments:
            old = Old([f"--{name}"])
            translate(old, keys_of_command(row.kind), row.kind, [row.trainer])
            assert {key for key, value in old.here.items() if value == "true"} <= switches
    message = refusal("cse-train", "--temp --max_seq_length --output_dir --trainer.lr --gradient_checkpointing")
    assert message.count("missing") == 4
    assert "cse-train model.gradient_checkpointing=true\n" in message


README = "allennlp train training_config/{} --serialization-dir out --overrides {} --include-package declutr"
SHORT = "{} -s out -o {} -f"


@pytest.mark.parametrize(
    ("line", "file", "overrides", "command"),
    [
        (
            README,
            "declutr.jsonnet",
            "{'train_data_path': 'a/b.txt'}",
            "cse-train objective=declutr model=distilroberta hydra.run.dir=out data=text data.path=a/b.txt",
        ),
        (
            f"CUDA_VISIBLE_DEVICES=0 TRANSFORMER_MODEL=roberta-base {README}",
            "contrastive_only.jsonnet",
            '{"distributed": {"cuda_devices": [0, 1, 2, 3]}, "data_loader.batch_size": 4, "trainer.use_amp": true}',
            "CUDA_VISIBLE_DEVICES=0 cse-train objective=declutr objective.mlm_weight=0 model=roberta hydra.run.dir=out "
            "trainer.devices=4 trainer.gather_scale=paper trainer.batch_size=16 trainer.precision=fp16",
        ),
        (
            SHORT,
            "declutr_base.jsonnet",
            '{"dataset_reader.num_anchors": 4, "trainer.optimizer.correct_bias": false}',
            "cse-train objective=declutr model=roberta hydra.run.dir=out augmentation.anchors=4 "
            "trainer.bias_correction=none",
        ),
        (SHORT, "mlm_only.jsonnet", "{}", "cse-train objective=mlm model=distilroberta hydra.run.dir=out"),
        (SHORT, "declutr.jsonnet", '{"unreadable', "cse-train objective=declutr model=distilroberta hydra.run.dir=out"),
        ("allennlp train {}", "my.jsonnet", "", "cse-train objective=declutr model=distilroberta"),
        ("{}", "my.jsonnet", "", "cse-train objective=declutr model=distilroberta"),
    ],
)
def test_allennlps_command_is_translated_without_its_file(line, file, overrides, command):
    texts = offered("cse-train", line.format(file, shlex.quote(overrides)))
    assert texts == command.split()
    composed("train", texts[texts.index("cse-train") + 1 :])
    left_out = refusal("cse-train", line.format(file, shlex.quote(overrides))).partition("Not translated: ")[2]
    assert file in left_out
    assert ("--overrides" in left_out) == ("unreadable" in overrides)
    assert exit_code("cse-train", *shlex.split(line.format(file, shlex.quote(overrides)))) == 2


def test_a_script_that_cse_does_not_know_has_no_defaults():
    message = refusal("cse-train", "python my_own.py --model_name_or_path x --max_seq_length 75")
    assert "cse-train model.name=x trainer.max_length=75\n\nNot translated: my_own.py." in message


@pytest.mark.parametrize("corpus", ["wiki1m_for_simcse.txt", "nli_for_simcse.csv"])
def test_a_published_corpus_is_read_from_ones_own_copy(tmp_path, monkeypatch, corpus):
    monkeypatch.chdir(tmp_path)
    line = f"--train_file data/{corpus} --temp 0.1"
    assert "data.rows.file" not in refusal("cse-train", line)
    Path("data").mkdir()
    Path("data", corpus).touch()
    texts = offered("cse-train", line)
    assert composed("train", texts[1:]).data.rows.file == f"data/{corpus}"


@pytest.mark.parametrize("name", ["my pairs.csv", "it's [1],2.csv", "a$b;c.csv"])
def test_a_file_of_ones_own_has_its_columns_and_survives_the_shell(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("premise,the other\na,b\n")
    line = shlex.join(["--train_file", name])
    _, *settings = offered("cse-train", line)
    values = {parsed.key_or_group: parsed.value() for parsed in map(parse_argument, settings)}
    assert values == {"data": "text", "data.path": name, "data.columns": ["premise", "the other"],
                      "objective": "simcse_sup"}  # fmt: skip


@pytest.mark.parametrize(("program", "line", "said"), [
    ("cse-train", "--lr_scheduler_type polynomial --temp 0.1", "trainer.schedule"),
    ("cse-train", "--pooler cls", "cse-eval"), ("cse-eval", "--learning_rate 1 --pooler cls", "cse-train"),
    ("cse-train", "--num_pos 3 --do_mlm", "objective=simcse"), ("cse-train", "--xyzzy 3 --fp16", "unknown"),
    ("cse-train", "--warmup_step 3 --fp16", "trainer.warmup"), ("cse-train", "word --temp 0.1", "no setting"),
    ("cse-train", "--max_steps 9 --evaluation_strategy epoch", "share of the schedule"),
    ("cse-train", "--fp16 --no_cuda", "GPU"), ("cse-train", "torchrun --nnodes 2 train.py --fp16", "docs/devices.md"),
    ("cse-train", "--optim adafactor --fp16", "AdamW"), ("cse-train", "--do_train false --fp16", "cse-eval"),
    ("cse-train", "--loss TripletLoss --max_seq_length 9", "nearest loss"),
    ("cse-train", "--fp16 --evaluator InformationRetrievalEvaluator", "eval=beir eval.beir.folder=FOLDER"),
    ("cse-train", "--fp16 --evaluator TripletEvaluator", "not here"),
    ("cse-train", "--fp16 --evaluator EmbeddingSimilarityEvaluator", "eval=pairs eval.pairs.dev=FILE"),
    ("cse-train", "--method vicreg --method_kwargs.var_loss_weight 10", "X in solo-learn is 2 X in cse"),
    ("cse-train", "--loss my_own --max_seq_length 9", "MultipleNegativesRankingLoss"),
    ("cse-train", "--learning_rate 1e-5 2e-5 --fp16", "trainer.lr: a setting has one value"),
    ("cse-train", "--trainer.warmup 3 4 --fp16", "trainer.warmup: a setting has one value"),
    ("cse-train", "--gpus 4", "SLURM"), ("cse-train", "--loss MatryoshkaLoss --max_seq_length 9", "--matryoshka_dims"),
])  # fmt: skip
def test_what_a_person_has_to_decide_is_named(program, line, said):
    message = " ".join(refusal(program, line).split())
    left_out = message.partition("Not translated: ")[2]
    assert said in message
    assert left_out.partition(". ")[0] in line


@pytest.mark.parametrize(
    ("line", "near"),
    [("--xyzzy 3", "unknown"), ("--warmup_step 3 -x", "trainer.warmup"), ("--pooler_typ cls", "mean model.pooling")],
)
def test_flags_that_no_trainer_has_get_one_line(line, near):
    message = refusal("cse-train", line)
    assert near in message
    assert "\n" not in message


def test_hydras_flags_and_settings_are_no_flags_of_others():
    assert refuse_old_command(["--cfg", "job", "--trainer.lr=3", "seed=-1", "-m", "--seed=2"], "train") is None
    known = {flag for flag in get_args_parser()._option_string_actions if flag not in ("-h", "--help", "--version")}
    assert known == {*HYDRAS_FLAGS}


def test_the_tables_values_and_defaults_are_settings():
    rows = [row for _, rows in trainers().values() for row in rows]
    known = {"objective.head"}.union(*map(keys_of_command, KINDS.values()))
    for row in rows:
        for text in " ".join([*(row.values or {}).values(), row.default, row.choose]).split():
            key, _, value = text.partition("=")
            assert key in known, text
            if is_group(key) and "{}" not in value:
                assert {*value.strip("[]").split(",")} <= {*choices(key)}, text
    assert {row.times for row in rows} == {"", "trainer.devices"}


@pytest.mark.parametrize(("file", "is_named"), [("nli.csv", True), ("org/name", True), ("lines.txt", False)])
def test_the_columns_of_a_table_are_for_the_person_to_name(file, is_named):
    assert offered("cse-train", f"--train_dataset {file}") == ["cse-train", "data=text", f"data.path={file}"]
    message = " ".join(refusal("cse-train", f"--train_dataset {file}").split())
    assert ("name its columns" in message) == is_named
    assert ("Not translated: --train_dataset." in message) == is_named


@pytest.mark.parametrize("flag", ["--train_dataset", "--train_file"])
@pytest.mark.parametrize(("header", "loss", "settings", "is_whole"), [
    ("anchor,positive,negative", "MultipleNegativesRankingLoss", "data.columns=[anchor,positive,negative]", True),
    ("sentence1,sentence2,score", "MultipleNegativesRankingLoss", "data.columns=[sentence1,sentence2]", True),
    ("sentence1,sentence2,score", "CoSENTLoss", "data.columns=[sentence1,sentence2] data.scores=score", True),
    ("a,b", "CosineSimilarityLoss", "data.columns=[a,b]", False),
])  # fmt: skip
def test_the_columns_of_a_file_are_texts_and_the_scores_of_the_loss(
    tmp_path, monkeypatch, flag, header, loss, settings, is_whole
):
    monkeypatch.chdir(tmp_path)
    Path("my.csv").write_text(f"{header}\na,b,0.5\n")
    line = f"--max_seq_length 64 --loss {loss} {flag} my.csv"
    texts = offered("cse-train", line)
    assert [text for text in texts if text.startswith(("data.columns", "data.scores"))] == settings.split()
    assert ("Not translated" not in refusal("cse-train", line)) == is_whole
    assert ("objective=simcse_sup" in texts) == (loss == "MultipleNegativesRankingLoss")
    assert ("data.score_range=null" in texts) == ("data.scores" in settings)  # sentence-transformers accepts any score


def test_the_objectives_that_read_scores_are_listed():
    files = {name: yaml.safe_load(file_of("objective", name).read_text()) for name in choices("objective")}
    classes = {name: get_class(file["objective"]["_target_"]) for name, file in files.items()}
    assert {name for name, objective in classes.items() if objective.reads_scores} == {*READS_SCORES}


@pytest.mark.parametrize("prompts", [
    '{"query": "query: ", "document": "it\'s {a}, b: "}', "{'query':'query: ','passage':\"it's {a}, b: \"}",
    '{"sent0":"query: ","sent1":"it\'s {a}, b: "}', "{'a':'query: ','b':\"it's {a}, b: \",'c':\"it's {a}, b: \"}",
])  # fmt: skip
def test_prompts_of_queries_and_documents_are_one_prefix(prompts):
    texts = offered("cse-train", shlex.join(["--prompts", prompts]))
    assert composed("train", texts[1:]).model.prefix == {"query": "query: ", "document": "it's {a}, b: "}


@pytest.mark.parametrize(
    "prompts", ['{"query": "q"}', '{"document": "d", "query": "q"}', '{"query": "q", "document": "d", "e": "f"}']
)
def test_other_prompts_are_not_translated(prompts):
    assert "Not translated: --prompts" in refusal("cse-train", shlex.join(["--prompts", prompts]))


@pytest.mark.parametrize(
    ("prompts", "prefix"),
    [
        ('{"a": "q: ", "b": "p: ", "c": "p: "}', {"query": "q: ", "document": "p: "}),
        ("{'c': 'p: ', 'b': 'p: '}", {"query": "", "document": "p: "}),
        ('{"a": "q: "}', {"query": "q: ", "document": ""}),
        ("all: ", "all: "),
        ('{"a": "q: ", "b": "p: "}', None),
        ('{"query": "q: ", "document": "p: "}', None),
    ],
)
def test_a_column_without_a_prompt_has_none_in_cse_too(tmp_path, monkeypatch, prompts, prefix):
    monkeypatch.chdir(tmp_path)
    Path("my.csv").write_text("a,b,c\n1,2,3\n")
    line = shlex.join(["--train_dataset", "my.csv", "--prompts", prompts])
    assert composed("train", offered("cse-train", line)[1:]).model.prefix == prefix
    assert ("Not translated: --prompts." in refusal("cse-train", line)) == (prefix is None)


@pytest.mark.parametrize("losses", ["--loss MatryoshkaLoss --loss CoSENTLoss", "--loss MatryoshkaLoss CoSENTLoss"])
def test_a_loss_inside_matryoshka_loss_is_translated_and_needs_widths(losses):
    line = f"{losses} --max_seq_length 64"
    assert "objective=cosent" in offered("cse-train", line)
    assert "set objective.widths=" in " ".join(refusal("cse-train", line).split())
    assert "Not translated: --loss MatryoshkaLoss." in refusal("cse-train", line)
    widths = f"{line} --matryoshka_dims 96 48"
    assert {"objective=cosent", "objective.widths=[96,48]"} <= {*offered("cse-train", widths)}
    assert "Not translated" not in refusal("cse-train", widths)


def test_matryoshka_loss_without_the_loss_inside_it_is_not_translated():
    line = "--loss MatryoshkaLoss --matryoshka_dims 96,48 --max_seq_length 64"
    assert "objective.widths=[96,48]" in offered("cse-train", line)
    assert "Not translated: --loss MatryoshkaLoss." in refusal("cse-train", line)
    assert "such as --loss MultipleNegativesRankingLoss" in " ".join(refusal("cse-train", line).split())


def test_of_two_losses_that_do_not_wrap_each_other_the_last_one_is_translated():
    line = "--loss CoSENTLoss --loss GISTEmbedLoss --max_seq_length 64"
    assert {text for text in offered("cse-train", line) if text.startswith("objective=")} == {"objective=gist"}
    assert "Not translated: --loss CoSENTLoss." in refusal("cse-train", line)
    assert "data=mixture" in refusal("cse-train", line)


def test_a_default_that_depends_on_the_encoder_is_not_translated():
    assert "Not translated: without --max_seq_length." in refusal("cse-train", "--loss CoSENTLoss --fp16")


@pytest.mark.parametrize("loss", ["TripletLoss", "BatchAllTripletLoss", "MSELoss", "CoSENTLoss"])
@pytest.mark.parametrize("file", ["", "--train_file nli.csv"])
def test_every_loss_has_the_defaults_of_sentence_transformers(loss, file):
    texts = offered("cse-train", f"--loss {loss} --max_seq_length 64 {file}")
    defaults = ["trainer.batch_size=8", "trainer.precision=fp32", "trainer.select=null"]
    assert [text for text in defaults if text not in texts] == []
    assert [text for text in texts if "pooling" in text or "keep_head" in text] == []  # defaults of SimCSE
    assert ("objective.head=null" in texts) == (loss == "TripletLoss")


@pytest.mark.parametrize(("rest", "is_scored"), [
    ("", False), ("--load_best_model_at_end False", False), ("--eval_steps 9", False),
    ("--load_best_model_at_end", True), ("--eval_strategy steps", True), ("eval=demo", True),
    ("--evaluator EmbeddingSimilarityEvaluator", True),
])  # fmt: skip
def test_sentence_transformers_scores_nothing_without_an_evaluator(rest, is_scored):
    _, *texts = offered("cse-train", f"--loss CoSENTLoss --max_seq_length 64 {rest}")
    assert ("eval=[]" not in texts) == is_scored
    assert len([text for text in texts if text.startswith("eval=")]) <= 1
    composed("train", texts)


def test_a_setting_of_cse_replaces_the_trainers_default():
    texts = offered("cse-train", "--loss CoSENTLoss --max_seq_length 64 trainer.batch_size=4")
    assert [text for text in texts if "batch_size" in text] == ["trainer.batch_size=4"]


@pytest.mark.parametrize(("name", "setting"), [
    ("all-MiniLM-L6-v2", "model=minilm"), ("sentence-transformers/all-MiniLM-L6-v2", "model=minilm"),
    ("all-mpnet-base-v2", "model.name=sentence-transformers/all-mpnet-base-v2"), ("all/my-v2", "model.name=all/my-v2"),
])  # fmt: skip
def test_a_bare_name_of_sentence_transformers_has_its_organisation(name, setting):
    assert setting in offered("cse-train", f"--model_name {name}")


def test_a_variable_before_the_program_counts_as_in_the_old_command(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0,1")
    line = "python train.py --temp 0.1"
    both = ["CUDA_VISIBLE_DEVICES=0,1", "cse-train", "objective.temperature=0.1", "trainer.accumulate=2"]
    assert offered("cse-train", line) == offered("cse-train", f"CUDA_VISIBLE_DEVICES=0,1 {line}") == both
    one = ["CUDA_VISIBLE_DEVICES=0", "cse-train", "objective.temperature=0.1"]
    assert offered("cse-train", f"CUDA_VISIBLE_DEVICES=0 {line}") == one
    assert offered("cse-train", "--temp 0.1") == one[1:]


def test_what_is_not_translated_has_no_default():
    assert "splits=" not in offered("cse-eval", "--model_name_or_path a --mode other")[-1]


@pytest.mark.parametrize(("line", "said"), [
    ("bash run_unsup_example.sh", "shell script"), ("python simcse_to_huggingface.py --path X", "not needed"),
    ("python scripts/run_senteval.py allennlp SentEval out --cuda-device 0", "eval=declutr"),
    ("'SentenceTransformerTrainingArguments(num_train_epochs=1)'", "coming-from"),
    ("python scripts/save_pretrained_hf.py out", "not needed"), ("python train.py args.json", "no flags"),
])  # fmt: skip
def test_a_script_without_a_counterpart_is_explained(line, said):
    assert said in refusal("cse-train", line)


@pytest.mark.parametrize(("program", "script", "right"), [
    ("cse-train", "evaluation.py", "cse-eval"), ("cse-eval", "SimCSE/train.py", "cse-train"),
    ("cse-eval", "a/declutr.jsonnet", "cse-train"),
])  # fmt: skip
def test_a_script_of_the_other_command_is_named(program, script, right):
    message = refusal(program, f"python {script} --model_name_or_path bert-base-uncased")
    assert message == f"{script} corresponds to {right}: paste this command after {right}"


@pytest.mark.parametrize(
    ("sampler", "settings", "is_translated"),
    [
        ("no_duplicates", ["trainer.no_duplicates=true"], True),
        ("BatchSamplers.NO_DUPLICATES_HASHED", ["trainer.no_duplicates=true"], True),
        ("batch_sampler", [], True),
        ("group_by_label", [], False),
        ("foo", [], False),
    ],
)
def test_each_batch_sampler_has_its_own_counterpart(sampler, settings, is_translated):
    line = f"--temp 0.1 --batch_sampler {sampler}"
    assert offered("cse-train", line) == ["cse-train", "objective.temperature=0.1", *settings]
    assert ("Not translated" not in refusal("cse-train", line)) == is_translated


@pytest.mark.parametrize(
    ("line", "settings"),
    [
        (
            "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 64",
            "devices=2 batch_size=64 accumulate=2 drop_last=true",
        ),
        (
            "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 64 --gradient_accumulation_steps 3",
            "devices=2 batch_size=64 accumulate=6 drop_last=true",
        ),
        ("torchrun --nproc_per_node 3 train.py", "batch_size=8 accumulate=3 drop_last=true"),
        (
            "torchrun --nproc_per_node 2 train.py --gather_across_devices False",
            "devices=2 batch_size=8 accumulate=2 drop_last=true",
        ),
        (
            "torchrun --nproc_per_node 2 train.py --per_device_train_batch_size 64 --gather_across_devices True",
            "devices=2 batch_size=128 accumulate=1 drop_last=true",
        ),
        ("CUDA_VISIBLE_DEVICES=0,1 python train.py", "batch_size=16 accumulate=1"),
    ],
)
def test_a_loss_of_sentence_transformers_compares_the_rows_of_a_process(line, settings):
    texts = offered("cse-train", f"{line} --loss MultipleNegativesRankingLoss --max_seq_length 64")
    trainer = composed("train", [text for text in texts if "=" in text and "CUDA" not in text]).trainer
    wanted = {"devices": "1", "accumulate": "1", "drop_last": "False", "gather_scale": "exact"}
    wanted |= dict(text.replace("true", "True").split("=") for text in settings.split())
    assert {key: str(trainer[key]) for key in wanted} == wanted


@pytest.mark.parametrize(("count", "loss", "is_same"), [
    (2, "GISTEmbedLoss", False), (2, "CachedGISTEmbedLoss", False), (1, "GISTEmbedLoss", True), (2, "MNRL", True),
])  # fmt: skip
def test_gathered_anchors_differ_only_with_gist(count, loss, is_same):
    line = f"torchrun --nproc_per_node {count} train.py --loss {loss} --max_seq_length 64 --gather_across_devices"
    for value in ("", "True"):
        message = refusal("cse-train", f"{line} {value}")
        assert ("Not translated: --gather_across_devices." not in message) == is_same
    assert "Not translated" not in refusal("cse-train", f"{line} False")


@pytest.mark.parametrize(("scale", "temperature"), [("20", 0.05), ("20.0", 0.05), ("1", 1), ("0.5", 2), ("0", None)])
def test_the_temperature_is_the_inverse_of_the_scale(scale, temperature):
    texts = offered("cse-train", f"--loss CoSENTLoss --max_seq_length 64 --scale {scale}")
    assert composed("train", texts[1:]).objective.temperature == (temperature or 0.05)
    assert ("Not translated: --scale" in refusal("cse-train", f"--scale {scale} --fp16")) == (temperature is None)


def test_only_simcses_script_divides_the_gradient_by_the_number_of_processes():
    line = "torchrun --nproc_per_node 2 {} --temp 0.1"
    assert "trainer.gather_scale=paper" in offered("cse-train", line.format("train.py"))
    assert offered("cse-train", line.format("my.py")) == ["cse-train", "trainer.devices=2", "objective.temperature=0.1"]


@pytest.mark.parametrize("loss", ["--loss MultipleNegativesRankingLoss", "--loss MatryoshkaLoss losses.CoSENTLoss"])
def test_a_script_with_a_loss_of_sentence_transformers_has_its_defaults_whatever_its_name(loss):
    line = f"{loss} --max_seq_length 64 --matryoshka_dims 96 --model_name x"
    texts = offered("cse-train", f"python finetune.py {line}")
    assert texts == offered("cse-train", f"python train.py {line}")
    assert {"trainer.batch_size=8", "trainer.precision=fp32", "eval=[]"} <= {*texts}
    assert "trainer.batch_size=8" not in offered("cse-train", f"python finetune.py {line.replace('Loss', '')}")


@pytest.mark.parametrize("loss", ["OnlineContrastiveLoss", "MatryoshkaLoss", "my_own"])
@pytest.mark.parametrize("widths", ["", "--matryoshka_dims 96"])
def test_a_loss_without_a_counterpart_does_not_train_simcse(loss, widths):
    line = f"--loss {loss} {widths} --learning_rate 3e-5 --max_seq_length 64"
    texts = offered("cse-train", line)
    assert texts[1] == "objective=?"
    assert {"trainer.schedule=linear", "trainer.weight_decay=0"} <= {*texts}  # another objective has other defaults
    assert exit_code("cse-train", *texts[1:]) == 0
    assert "objective=?" not in offered("cse-train", f"{line} objective=cosent")
    assert offered("cse-train", f"{line} --train_file a.csv")[1] == "objective=?"  # a file chooses a loss too


@pytest.mark.parametrize(
    ("evaluator", "settings"),
    [
        ("TripletEvaluator --eval_strategy steps", ["eval=[]"]),
        ("EmbeddingSimilarityEvaluator", ["eval=pairs", "eval.pairs.dev=FILE"]),
        ("evaluation.InformationRetrievalEvaluator", ["eval=beir", "eval.beir.folder=FOLDER"]),
        ("NanoBEIREvaluator", ["eval=mteb", "eval.mteb.benchmark=NanoBEIR"]),
        ("TripletEvaluator", ["eval=[]"]),
    ],
)
def test_an_evaluator_replaces_sts_b(evaluator, settings):
    line = f"--loss CoSENTLoss --max_seq_length 64 --evaluator {evaluator}"
    texts = offered("cse-train", line)
    assert [text for text in texts if text.startswith("eval")] == settings
    assert "trainer.select=null" in texts
    composed("train", texts[1:])


@pytest.mark.parametrize(
    ("evaluator", "select"), [("EmbeddingSimilarity", "pairs"), ("InformationRetrieval", "beir"), ("NanoBEIR", "null")]
)
def test_an_evaluator_selects_the_checkpoint_if_it_has_a_dev_split(evaluator, select):
    line = f"--loss CoSENTLoss --max_seq_length 64 --evaluator {evaluator}Evaluator --eval_strategy steps"
    assert f"trainer.select={select}" in offered("cse-train", f"{line} --load_best_model_at_end")
    watched = "" if select == "null" else select
    assert f"trainer.watch=[{watched}]" in offered("cse-train", line)


@pytest.mark.parametrize(
    ("metric", "settings"),
    [
        ("eval_sts-dev_spearman_cosine", "eval=pairs eval.pairs.dev=FILE trainer.select=pairs"),
        ("pearson_cosine", "eval=pairs eval.pairs.dev=FILE trainer.select=dev/pairs/FILE/pearson"),
        ("eval_my-ir_cosine_ndcg@10", "eval=beir eval.beir.folder=FOLDER trainer.select=dev/beir/ndcg@10"),
        ("eval_cosine_recall@10", "eval=beir eval.beir.folder=FOLDER trainer.select=dev/beir/recall@10"),
        ("eval_dev_cosine_map@100", ""),
        ("eval_NanoBEIR_mean_cosine_ndcg@10", ""),
        ("eval_avg_sts", "eval.stsb.with_sickr=true trainer.select=dev/stsb/average"),
    ],
)
def test_the_scores_of_the_evaluators_of_sentence_transformers_select_the_checkpoint(metric, settings):
    texts = offered("cse-train", f"--metric_for_best_model {metric} --temp 0.1")
    assert texts[1:-1] == settings.split()
    composed("train", texts[1:])


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ("experiment=demo --data.path small.txt", "data=text data.path=small.txt experiment=demo"),
        ("--data.path small.txt", "data=text data.path=small.txt"),
        ("experiment=demo data=nli --data.path small.txt --fp16", "trainer.precision=fp16 experiment=demo data=nli"),
        ("experiment=demo --objective.lambd 3 --fp16", "trainer.precision=fp16 experiment=demo"),
    ],
)
def test_a_key_of_cse_has_the_choice_that_it_needs(line, command):
    texts = offered("cse-train", line)
    assert texts[1:] == command.split()
    composed("train", texts[1:])


@pytest.mark.parametrize(
    ("header", "settings"), [("text", ["data.columns=[text]"]), ("a,b", ["objective=simcse_sup", "data.columns=[a,b]"])]
)
def test_one_column_of_text_is_unsupervised(tmp_path, monkeypatch, header, settings):
    monkeypatch.chdir(tmp_path)
    Path("my.csv").write_text(f"{header}\n{header}\n")
    assert offered("cse-train", "--train_file my.csv") == ["cse-train", "data=text", "data.path=my.csv", *settings]


def test_the_arguments_of_mnrl_in_6_2_have_rows():
    line = (
        "--loss MNRL --max_seq_length 64 --directions {} --partition_mode {} --hardness_mode {} --hardness_strength {}"
    )
    message = refusal("cse-train", line.format("query_to_doc doc_to_query", "per_direction", "hard_negatives", "5"))
    assert "Not translated: --directions, --partition_mode, --hardness_mode," in message
    assert "objective.symmetric=true" in message
    defaults = line.format("query_to_doc", "joint", "None", "0.0")
    assert "Not translated" not in refusal("cse-train", defaults)
    assert offered("cse-train", defaults) == offered("cse-train", "--loss MNRL --max_seq_length 64")


@pytest.mark.parametrize("encoder", ["--model_name all-MiniLM-L6-v2", "model=minilm"])
def test_a_text_has_the_length_of_an_encoder_that_is_here(encoder):
    line = f"--loss MNRL {encoder}"
    assert "trainer.max_length=256" in offered("cse-train", line)
    assert "Not translated" not in refusal("cse-train", line)
    assert "trainer.max_length=9" in offered("cse-train", f"{line} --max_seq_length 9")


@pytest.mark.parametrize(
    ("files", "length"),
    [
        ({"sentence_bert_config": '{"max_seq_length": 75}', "config": '{"max_position_embeddings": 512}'}, 75),
        ({"sentence_bert_config": '{"max_seq_length": null}', "config": '{"max_position_embeddings": 512}'}, 512),
        ({"tokenizer_config": '{"model_max_length": 510}', "config": '{"max_position_embeddings": 512}'}, 510),
        ({"tokenizer_config": f'{{"model_max_length": {10**30}}}', "config": "{}"}, None),
        ({"tokenizer_config": '{"model_max_length": "', "config": "[]"}, None),
    ],
)
def test_the_length_of_an_encoder_is_in_its_files(tmp_path, files, length):
    for name, content in {"tokenizer": "{}", **files}.items():
        (tmp_path / f"{name}.json").write_text(content)
    line = f"--loss CoSENTLoss --model_name {tmp_path}"
    lengths = [text for text in offered("cse-train", line) if "max_length" in text]
    assert lengths == ([] if length is None else [f"trainer.max_length={length}"])
    assert ("reads 64 tokens" in " ".join(refusal("cse-train", line).split())) == (length is None)


@pytest.mark.parametrize("choice", ["eval=null", "experiment=null", "model=my_own", "model=bert,minilm"])
def test_a_choice_that_is_not_in_conf_stays(choice):
    assert offered("cse-train", f"--fp16 {choice}") == ["cse-train", "trainer.precision=fp16", choice]
