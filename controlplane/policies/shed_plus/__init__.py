"""Shed+, with Shed and Dolly: how many further attempts does each task get, so that jobs meet their deadlines?"""
