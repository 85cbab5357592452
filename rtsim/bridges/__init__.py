"""Results as other programs and screens take them: a page for browsers, flat numbers, frames and scenes."""
