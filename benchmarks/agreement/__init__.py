"""The same frames solved for other processors, without a compiler, in threads: how far results part."""
