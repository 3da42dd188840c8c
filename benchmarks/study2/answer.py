"""What RESULTS.md says in words, written by hand after a block was read; the numbers are filled in from runs.csv."""

PICTURE = """\
<picture>
  <source media="(prefers-color-scheme: dark)" srcset="../../docs/_static/study2_dark.png">
  <img alt="Each arm's ten seeds, their mean and its interval" src="../../docs/_static/study2.png" width="700">
</picture>"""
ANSWER = """\
**The augmentation; and which objective is better depends on it.** Token shuffle instead of dropout is worth
{gain[simcse]:+.2f} points to SimCSE, {gain[barlow]:+.2f} to Barlow Twins and {gain[vicreg25]:+.2f} to VICReg;
with it these two are better than SimCSE, by {above[barlow_shuffle]:.2f} and {above[vicreg25_shuffle]:.2f},
with dropout worse, by {above[barlow_dropout]:.2f} and {above[vicreg25_dropout]:.2f}.
Whether whitening, images, sound or DeCLUTR's losses help is not known yet.

Claims 1 to 4 hold. The gains of Barlow Twins and VICReg, and their distance to SimCSE with dropout, are described: no
claim was registered about them."""
DOUBTS = """\
- On the selection pairs, which chose the rates, SimCSE's arms are alike: {dev[simcse_dropout]:.2f} with dropout,
  {dev[simcse_shuffle]:.2f} with shuffle. Its gain is one on the tests.
- Barlow Twins with dropout has the rate that two tuning seeds favoured, 1e-3; with 3e-4 the first study had
  68.74 ± 1.31, so three of its points below the others may be the rate's. It is a side of no claim.
- One small encoder that a sentence encoder's tuning has shaped, 80 steps, Wikipedia sentences, STS alone. The
  replication on a second encoder is not run; it is not pooled and not judged."""
