"""The only package that speaks Redis: keys, connections, scripts.

What is authoritative, the state diagram and the reason for every rule stand in docs/protocol.md; the scripts in
`lua/` refer to it. Outside this package nothing names Redis but settings, the public API and the doctor.
"""
