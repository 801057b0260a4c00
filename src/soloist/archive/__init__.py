"""A namespace as a file: what `soloist export` writes, and `soloist import` reads.

One JSON object a line. The first is a header, the last says how much there must have been before it, so a file that was cut
off is known before anything of it is written. Redis is not named in it: whoever wants to leave can read it with anything.
"""
