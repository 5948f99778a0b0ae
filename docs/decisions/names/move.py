"""Move files by tables: move.py ROOT TABLE..."""
import sys,re,pathlib,subprocess
ROOT=pathlib.Path(sys.argv[1]); mv={}
for t in sys.argv[2:]:
    for l in open(t,encoding="utf-8"):
        c=l.rstrip("\n").split("\t")
        if c[0]=="file" and re.fullmatch(r"[\w/]+",c[2].strip()): mv[c[1].strip()]=c[2].strip()
fs=subprocess.run(["git","-C",str(ROOT),"ls-files"],capture_output=True,text=True).stdout.split("\n")
exist={f[7:-3] for f in fs if f.startswith("ukctrl/") and f.endswith(".py")}
for o in list(mv):
    if o not in exist: print("no such file",o); del mv[o]
targets=list(mv.values())
for n in set(targets):
    if targets.count(n)>1: print("merged onto one:",n,[o for o in mv if mv[o]==n])
    if n in exist and n not in mv: print("target exists",n)
tmp={}
for o,n in mv.items():
    a,b=ROOT/"ukctrl"/(o+".py"),ROOT/"ukctrl"/(n+".py.moved")
    b.parent.mkdir(parents=True,exist_ok=True); a.rename(b)
for o,n in mv.items():
    b=ROOT/"ukctrl"/(n+".py.moved"); b.rename(ROOT/"ukctrl"/(n+".py"))
dot={}
for o,n in mv.items():
    oo,nn=o.replace("/","."),n.replace("/",".")
    if oo.endswith(".__init__"): oo,nn=oo[:-9],nn[:-9]
    dot["ukctrl."+oo]="ukctrl."+nn
# other data files in moved packages
moved_pk={o[:-9]:n[:-9] for o,n in mv.items() if o.endswith("/__init__")}
for f in fs:
    if f.startswith("ukctrl/") and not f.endswith(".py"):
        for o,n in moved_pk.items():
            if f.startswith("ukctrl/"+o+"/"):
                d=ROOT/("ukctrl/"+n+f[7+len(o):]); d.parent.mkdir(parents=True,exist_ok=True); (ROOT/f).rename(d); print("data",f)
rx=re.compile(r"\bukctrl(?:\.\w+)+")
def sub(m):
    t=m[0]; tail=""
    while t.count("."):
        if t in dot: return dot[t]+tail
        i=t.rfind("."); tail=t[i:]+tail; t=t[:i]
    return m[0]
slash={("ukctrl/"+o if True else o):"ukctrl/"+n for o,n in mv.items()}
rs=re.compile(r"\bukctrl/[\w/]+")
def sub2(m):
    t=m[0]; tail=""
    while "/" in t:
        if t in slash: return slash[t]+tail
        for o,n in moved_pk.items():
            if t=="ukctrl/"+o: return "ukctrl/"+n+tail
        i=t.rfind("/"); tail=t[i:]+tail; t=t[:i]
    return m[0]
subprocess.run(["git","-C",str(ROOT),"add","-A"])
fs=subprocess.run(["git","-C",str(ROOT),"ls-files"],capture_output=True,text=True).stdout.split("\n")
# from ukctrl.a import b  where module ukctrl.a.b moved to another parent
frm=re.compile(r"^(\s*)from (ukctrl[\w.]*) import (\([^)]*\)|[^\n]*)",re.M)
basename_new={}  # (newparent? ) by rename step, names in imports are already the new basenames
byold={}
for o,n in dot.items():
    po,bo=o.rsplit(".",1); pn,bn=n.rsplit(".",1)
    byold.setdefault(po,{})[bn]=(pn,bn)
def fix(m):
    ind,parent,names=m[1],m[2],m[3]
    moved=byold.get(parent,{})
    if not moved: return m[0]
    comment=""
    if not names.startswith("(") and "#" in names: names,comment=names.split("#",1); comment="  #"+comment
    items=[x.strip() for x in names.strip("()\n ").replace("\n"," ").split(",") if x.strip()]
    groups={}
    for it in items:
        base=it.split(" as ")[0].strip()
        par=moved[base][0] if base in moved else parent
        groups.setdefault(par,[]).append(it)
    if list(groups)==[parent]: return m[0]
    return "\n".join(f"{ind}from {g} import {', '.join(v)}{comment}" for g,v in groups.items())
for f in fs:
    p=ROOT/f
    if not f or not p.exists() or f.startswith("findings") or p.suffix not in(".py",".md",".toml",".yml",".j2",".txt",".js",".json","",".cfg"): continue
    try: s=p.read_text(encoding="utf-8")
    except UnicodeDecodeError: continue
    n=s
    if p.suffix==".py": n=frm.sub(fix,n)
    n=rs.sub(sub2,rx.sub(sub,n))
    if n!=s: p.write_text(n,encoding="utf-8")
subprocess.run(["git","-C",str(ROOT),"add","-A"])
