"""Finds and describes suspended coroutines from outside the process: it only reads memory and symbols."""
