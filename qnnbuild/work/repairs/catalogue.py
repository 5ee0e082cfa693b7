"""The repairs that a recipe may ask for, by name. Pure data: recipes are checked against it."""

from __future__ import annotations

from collections.abc import Mapping

REPAIRS: Mapping[str, str] = {
    "clip-bounds": "Clip with a computed bound becomes Max and Min",
    "default-activations": "LSTM, GRU and RNN drop activations that are the defaults anyway",
    "gather-nd": "GatherND with constant indices becomes Reshape and Gather",
    "gelu": "a GELU written out with Erf, with or without its factor 0.5, becomes one Gelu",
    "hard-swish": "HardSigmoid (1/6, 1/2) times its input, wrong on the HTP in float, "
    "becomes HardSwish",
    "two-pass-variance": "mean(x²) − mean(x)² becomes mean((x − mean(x))²): fp16 keeps that",
}
"""Name → what it does. The comparison on the CPU proves each time that the model is the same."""
