"""Laws of controllers: each module has a function `make` and is named after a kind in
rtsim/config/controllers."""
