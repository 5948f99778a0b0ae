#!/bin/sh
# figaroh 1.0.2: low_pass_filter_data with "cut_off_frequency_butterworth: Cutoff frequency in Hz" at 100, 1 kHz data.
#
# Expected: a sine of 25 Hz passes, one of 100 Hz is halved (the filter runs forwards and backwards).
# Seen: 25 Hz is halved and 50 Hz is gone: the filter cuts at a quarter of what is asked, since the frequency is given to
# SciPy as ts * f / 2, where it wants f over half of the sampling frequency, 2 * ts * f.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/env"
"$folder/env/bin/python" -m pip install --quiet --disable-pip-version-check figaroh==1.0.2
"$folder/env/bin/python" -W ignore <<'END'
import sys

import numpy as np
from figaroh.identification.identification_tools import low_pass_filter_data

t = np.arange(0.0, 5.0, 1e-3)
passed = {}
for frequency in (10, 25, 50, 100):
    wave = np.sin(2.0 * np.pi * frequency * t)[:, None]
    filtered = low_pass_filter_data(wave, {"ts": 1e-3, "cut_off_frequency_butterworth": 100.0})
    passed[frequency] = float(np.sqrt(2.0) * filtered[500:-500].std())
    print(f"{frequency:4d} Hz: {passed[frequency]:.3f} of it passes")
sys.exit(int(not (abs(passed[25] - 0.5) < 0.01 and passed[50] < 0.01)))
END
