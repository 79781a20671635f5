# Turns the plain comments of a header into ones that Doxygen reads, in place, line for line.
# The first comment after the licence documents the file.
1s|^/\* SPDX.*||
2s|^/\*$|/** @file|
3,$s|^([[:space:]]*)/\*([[:space:]]\|$)|\1/**\2|
# A comment behind code on its line belongs to that code.
s|^([[:space:]]*[^[:space:]/*].*[;,{)=0-9A-Za-z_][[:space:]]+)/\*[[:space:]]|\1/**< |
