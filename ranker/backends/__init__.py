"""Attribution backends: one file, one function each."""
