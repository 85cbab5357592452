"""Which panels and curves are shown: by task, by hand, and kept between starts."""
