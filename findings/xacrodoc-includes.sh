#!/bin/sh
# xacrodoc 2.0.1 with xacro 2.1.1: a macro file that includes another beside it.
#
# Expected: XacroDoc.from_file("robot/main.xacro") reads <xacro:include filename="part.xacro"/> beside main.xacro, as
# xacro itself does with the same file, whatever the working folder is.
# Seen: from_file hands the text alone to xacro, so the name is taken from the working folder. It fails from any other
# folder, and where that folder has a file of the same name, that one is included without a word.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" xacrodoc==2.0.1 xacro==2.1.1
cd "$folder"
mkdir robot elsewhere
head='<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
echo "$head"'<xacro:include filename="part.xacro"/></robot>' > robot/main.xacro
echo "$head"'<link name="right"/></robot>' > robot/part.xacro
echo "$head"'<link name="another"/></robot>' > elsewhere/part.xacro
cd elsewhere
includes() {
    PYTHONPATH="$folder/lib" python3 -c "$1" | grep -o 'link name="[a-z]*"'
}
by_xacro=$(includes 'import xacro; print(xacro.process_file("../robot/main.xacro").toxml())')
by_xacrodoc=$(includes 'import xacrodoc; print(xacrodoc.XacroDoc.from_file("../robot/main.xacro").to_urdf_string())')
echo "xacro includes    $by_xacro"
echo "xacrodoc includes $by_xacrodoc"
[ "$by_xacro" = 'link name="right"' ] && [ "$by_xacrodoc" = 'link name="another"' ]
