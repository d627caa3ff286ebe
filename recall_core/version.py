"""The version of the program, in one place: the package's metadata, the command line and everything written name it."""

VERSION = "0.2.0.dev0"
