"""Code that the commands of `rtsim fit` share: options, files, figures."""
