"""Joint centres and angles by the conventional gait model (Plug-in Gait), computed frame by frame."""
