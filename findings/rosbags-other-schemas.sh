#!/bin/sh
# rosbags 0.11.9: an MCAP file of ROS 2 that also has a topic in JSON, as Foxglove and many recorders write them.
#
# Expected: topics in ROS messages are read, and one in another encoding is left out, or named; mcap 1.6.0 lists both.
# Seen: the file cannot be opened at all, and the error is a KeyError with the name of the encoding. The same file
# without the JSON topic is read.
set -eu
folder=$(mktemp -d); trap 'rm -rf "$folder"' EXIT
python3 -m pip install --quiet --target "$folder/lib" rosbags==0.11.9 mcap==1.6.0 mcap-ros2-support==0.6.0
cat > "$folder/bag.py" <<'PYTHON'
import sys
from pathlib import Path

from mcap.reader import make_reader
from mcap_ros2.writer import Writer
from rosbags.rosbag2 import Reader

DEFINITION = "float64 data"
path = Path(sys.argv[1])
with path.open("wb") as stream:
    writer = Writer(stream)
    schema = writer.register_msgdef("std_msgs/msg/Float64", DEFINITION)
    writer.write_message("/angle", schema, {"data": 0.5}, log_time=1, publish_time=1)
    if sys.argv[2] == "json":
        inner = writer._writer
        other = inner.register_schema("status", "jsonschema", b"{}")
        channel = inner.register_channel("/status", "json", other)
        inner.add_message(channel, log_time=2, publish_time=2, data=b"{}")
    writer.finish()
with path.open("rb") as stream:
    topics = sorted(channel.topic for channel in make_reader(stream).get_summary().channels.values())
try:
    with Reader(path) as reader:
        read = sorted(connection.topic for connection in reader.connections)
except KeyError as error:
    read = f"KeyError: {error}"
print(f"mcap: {topics}; rosbags: {read}")
PYTHON
ask() {
    PYTHONPATH="$folder/lib" python3 "$folder/bag.py" "$folder/$1.mcap" "$1" 2>&1 | tail -1
}
plain=$(ask plain)
json=$(ask json)
echo "ROS messages alone:   $plain"
echo "with a topic in JSON: $json"
[ "$plain" = "mcap: ['/angle']; rosbags: ['/angle']" ]
[ "$json" = "mcap: ['/angle', '/status']; rosbags: KeyError: 'jsonschema'" ]
