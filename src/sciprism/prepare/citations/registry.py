"""The samplers of triplets by name, and their settings from the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from typing import Any

from sciprism.errors import InputError
from sciprism.prepare.citations.triplet_sampler import TripletSampler
from sciprism.prepare.samplers.given import GIVEN, GivenTripletSampler
from sciprism.prepare.samplers.scincl import SciNCLSampler
from sciprism.prepare.samplers.specter import SpecterTripletSampler
from sciprism.registry import Registry

samplers: Registry[type[TripletSampler]] = Registry("sampler")
samplers["specter"] = SpecterTripletSampler
samplers["scincl"] = SciNCLSampler
samplers[GIVEN] = GivenTripletSampler


def parse_settings(name: str, words: Iterable[str]) -> dict[str, Any]:
    """Return the settings of a sampler from key=value words; a value is TOML, or else text.

    Raises InputError for an unknown key; the sampler itself checks the values.
    """
    sampler = samplers[name]
    settings: dict[str, Any] = {}
    for word in words:
        key, _, text = word.partition("=")
        if key not in sampler.settings():
            known, defaults = (", ".join(map(str, each)) for each in (sampler.settings(), sampler.settings().values()))
            known = f"{known} (by default {defaults})" if known else "none"
            raise InputError(f"--set {word}: the sampler {name} has no {key!r}; known: {known}")
        try:
            settings[key] = tomllib.loads(f"v = {text}")["v"]
        except tomllib.TOMLDecodeError:
            settings[key] = text
    return settings
