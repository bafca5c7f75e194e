"""Do replays tell what they should of recordings whose stragglers are known?"""
