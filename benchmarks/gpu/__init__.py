"""Test a GPU machine with one command, `make gpu` or python -m benchmarks.gpu, without hub, network or data.

The benchmark needs torch, transformers, accelerate, hydra-core and this checkout. Weights are random. Text, score sets,
pictures and sound are synthetic (world.py). Each part runs in a separate process, and writes DIR/<part>.json after
every check:

    launches     (0) kernels and launches of a step, plain and with CUDA graphs; graphs compared with plain; saves of
                 last/
    correctness  (a) the GPU matches the CPU in loss, gradient, chunks, resume, scores, pictures and sound; a step never
                 waits for the GPU; a compiled run has the plain run's losses
    speed        (b) tokens/s, share of the measured bf16 peak, and memory, of cse, a plain Hugging Face Trainer and
                 sentence-transformers' trainer (skipped if sentence-transformers or `datasets` is missing)
    recipes      (c) SimCSE-BERT and Barlow-BERT over 500 steps with evaluations, extrapolated to the whole recipe
    modality     (d) the time of a step with pictures or sound relative to text alone, and its share spent waiting
    large        (e) a batch of 65,536 in chunks of rows and of tokens
    evaluation   (f) encoding, STS and transfer

tests/benchmarks runs every part with tiny inputs on a CPU. `--tiny` does the same.

What no GPU has run yet
-----------------------
tests/training/test_card.py runs every objective on a simulated GPU. It shows that no tensor is on the wrong device, and
that no step waits. No real GPU has run these yet: trainer.compile=true and trainer.compile=graphs, the tests of
tests/training/test_compilation.py that need a GPU, the minute between two saves, fp16, and all measurements.

If the GPU machine has torch, transformers, accelerate and scikit-learn, but no network, bring wheels of the other
packages (6 MB in all). `pip download --no-deps --only-binary=:all: --python-version 3.12 --platform ... -d .whl`
fetches:

    hydra-core==1.3.8 omegaconf==2.3.1 pydantic==2.14.3 pydantic-core==2.50.4 annotated-types==0.8.0
    soundfile==0.14.0 cffi==2.1.1 pycparser==3.12 and, for sentence-transformers' trainer,
    datasets==5.2.0 dill==0.4.1 multiprocess==0.70.19

`pip wheel --no-deps -w .whl antlr4-python3-runtime==4.9.3` builds the only package without a wheel. Then put the
unpacked wheels and this checkout on PYTHONPATH, and run these commands. The first takes at most eight minutes, and each
other at most ten:

    python -m benchmarks.gpu --parts launches --out DIR
    python -m benchmarks.gpu --parts correctness,large --out DIR
    python -m pytest -q tests/training/test_compilation.py tests/training/test_step.py
    python -m benchmarks.gpu --parts speed --only "peak|batch 64|Barlow|DeCLUTR" --out DIR
    python -m benchmarks.gpu --parts speed --only "peak|batch (256|512)" --out DIR2
    python -m benchmarks.gpu --parts recipes,modality,evaluation --out DIR
"""
