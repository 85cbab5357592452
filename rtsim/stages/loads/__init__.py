"""Parts of stages that have to do with loads on the feet and bodies."""
