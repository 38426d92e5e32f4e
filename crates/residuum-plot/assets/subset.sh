#!/bin/sh
# Rebuilds the two embedded fonts from Debian's fonts-dejavu-core 2.37; needs fonttools.
# The characters are those figures use: Latin-1, Greek, scripts, combining bars, arrows, operators, marker shapes.
set -eu
cd "$(dirname "$0")"
unicodes="U+0020-007E,U+00A0-00FF,U+0302-0305,U+0391-03A9,U+03B1-03D6,U+2010-2015,U+2018-201D,U+2020,U+2022,\
U+2026,U+2032,U+2033,U+2070-207F,U+2080-208E,U+2090-209C,U+2102,U+2115,U+211D,U+2190-2195,U+21A6,U+21D0-21D4,\
U+2200-2203,U+2207-2209,U+220F-2213,U+2217-221A,U+221D,U+221E,U+2223,U+2225,U+2227-222C,U+223C,U+2245,U+2248,\
U+2260-2265,U+226A,U+226B,U+2282-2287,U+2295,U+2297,U+2299,U+22A5,U+22C4-22C6,U+25A0,U+25A1,U+25B2,U+25B3,\
U+25BC,U+25C6,U+25C7,U+25CA,U+25CB,U+25CF,U+2605,U+2606,U+27E8,U+27E9"
for face in DejaVuSans DejaVuSans-Bold; do
    pyftsubset "${1:-/usr/share/fonts/truetype/dejavu}/$face.ttf" --unicodes="$unicodes" \
        --layout-features=kern,mark,mkmk,ccmp --no-hinting --drop-tables+=FFTM \
        --name-IDs=0,1,2,3,4,5,6,13,14 --output-file="$face-subset.ttf"
done
