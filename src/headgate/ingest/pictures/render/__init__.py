"""A small z-buffer rasteriser that draws models as pictures."""
