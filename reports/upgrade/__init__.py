"""Results of older versions, brought over to this one."""
