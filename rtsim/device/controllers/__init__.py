"""Laws of controllers: modules with a function `make`, named as the kind in rtsim/config/controllers."""
