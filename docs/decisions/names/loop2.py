import re,json,ast,pathlib,collections,subprocess,sys
ROOT=pathlib.Path(sys.argv[1]); NAMES=json.load(open("members.json"))["names"]
src=open("members.py").read()
ns_part=src[src.index("LINES={}"):src.index("FULL=")]
exec(ns_part)
GLOBAL={}
exec(src[src.index("def flush():"):src.index('print("definitions"')])
exec(src[src.index("rx1=re.compile"):src.index('loop([MY,"--show-column-numbers","--no-pretty"],"lib")')])
loop([MY,"--show-column-numbers","--no-pretty"],"lib",4)
loop([MY,"--show-column-numbers","--no-pretty","--check-untyped-defs","--explicit-package-bases","--config-file","/dev/null","--ignore-missing-imports","tests","benchmarks","tools","docs/gallery"],"tests",6)
