"""Waves to numbers, exact at any position: knows no option, no layer and no argument.

`waves` has the records that come in, `tables` computes on the host, `turns` and
`spread` in a graph, `cache` keeps tables for eager calls, and `encode` chooses.
"""
