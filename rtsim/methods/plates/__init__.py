"""Force plates beside markers: loads on the feet, and checks of the plates' readings."""
