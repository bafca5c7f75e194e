"""The live driver: one asyncio task owns the engine; reports come in, replies and timers go out."""
