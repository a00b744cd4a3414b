"""The pubmatch matcher inside Spark executors; install ``pubmatch[spark]`` to use it."""
