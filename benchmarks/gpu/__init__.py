"""One command that proves a GPU machine: `make gpu`, or python -m benchmarks.gpu. No hub, no network, no data.

It needs torch, transformers, accelerate, hydra-core and this checkout; weights are random, text, score sets, pictures
and sound are made up (world.py). Each part runs in a process of its own and writes DIR/<part>.json after every check:

    correctness  (a) a GPU's loss, gradient, chunks, resume, scores, pictures and sound are the CPU's; a step waits for
                 nothing; a compiled run has the plain run's losses
    speed        (b) tokens/s, share of the measured bf16 peak and memory, beside a plain Hugging Face Trainer and
                 sentence-transformers' (skipped, with the reason, where it or `datasets` is missing)
    recipes      (c) SimCSE-BERT and Barlow-BERT over 500 steps with evaluations, extrapolated to the whole recipe
    modality     (d) a step with pictures or sound over one of text alone, and the share spent waiting for them
    large        (e) a batch of 65,536 in chunks of rows and of tokens
    evaluation   (f) encoding, STS and transfer

tests/benchmarks runs every part at toy size on a CPU; `--tiny` does the same by hand.

What waits for a card
---------------------
No line below has run on a GPU yet: CUDA graphs under trainer.compile, the tests of tests/training/test_fast.py and
test_waiting.py that skip without one, fp16, every figure, and BREAK_EVEN in cse/training/fast.py, which is an estimate.
On a machine without a network, carry wheels for what it lacks beside torch, transformers, accelerate and scikit-learn
(hydra-core omegaconf antlr4-python3-runtime==4.9.3, pydantic pydantic-core annotated-types typing-inspection,
soundfile cffi pycparser; datasets dill multiprocess xxhash for the peer), then, ten minutes a command at most:

    python -m benchmarks.gpu --parts correctness,large --out DIR
    python -m pytest -q tests/training/test_fast.py tests/training/test_waiting.py tests/training/test_step.py
    python -m benchmarks.gpu --parts speed --only "peak|batch 64|Barlow|DeCLUTR" --out DIR
    python -m benchmarks.gpu --parts speed --only "peak|batch (256|512)" --out DIR2
    python -m benchmarks.gpu --parts recipes,modality,evaluation --out DIR
"""
