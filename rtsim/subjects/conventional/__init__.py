"""The conventional gait model (Plug-in Gait, Helen Hayes, Newington): centres, axes and angles from markers.

Kadaba et al. 1990 (J Orthop Res 8, 383-392), Davis et al. 1991 (Hum Mov Sci 10, 575-587).
"""
