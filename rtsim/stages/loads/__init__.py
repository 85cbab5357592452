"""Parts of stages that compute loads on feet and bodies."""
