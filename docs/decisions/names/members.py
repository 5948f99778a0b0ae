"""members.py ROOT TABLE... : rename members of classes, by mypy's errors"""
import ast,sys,re,pathlib,subprocess,collections,json
ROOT=pathlib.Path(sys.argv[1]); TABLES=[a for a in sys.argv[2:] if not a.startswith("--")]
PUBLIC="--public" in sys.argv
DEFN={};FILES={};meth=[]
for t in TABLES:
    for l in open(t,encoding="utf-8"):
        c=l.rstrip("\n").split("\t")
        if len(c)<3: continue
        why=c[3] if len(c)>3 else ""; pub="PUBLIC" in why and not PUBLIC
        old,new=c[1].strip(),c[2].strip()
        if c[0]=="file" and re.fullmatch(r"[\w/]+",new): FILES[old]=new
        elif c[0] in("class","func","const") and not pub and re.fullmatch(r"\w+",new):
            m,_,n=old.partition(":"); DEFN[m,n]=new
        elif c[0]=="method" and not pub:
            m,_,n=old.partition(":")
            if n.count(".")!=1 or not re.fullmatch(r"\w+",new): print("skip",old,new); continue
            meth.append((m,*n.split("."),new))
R=collections.defaultdict(dict)   # (newmodule,newclass)->{old:new}
for m,c,a,new in meth:
    R["ukctrl."+FILES.get(m,m).replace("/","."),DEFN.get((m,c),c)][a]=new
paths=[ROOT/x for x in subprocess.run(["git","-C",str(ROOT),"ls-files","ukctrl/*.py"],capture_output=True,text=True).stdout.split()]
allpy=[ROOT/x for x in subprocess.run(["git","-C",str(ROOT),"ls-files","*.py"],capture_output=True,text=True).stdout.split()]
def mod(p):
    r=p.relative_to(ROOT).with_suffix("").parts
    return ".".join(r[:-1] if r[-1]=="__init__" else r)
TREE={p:ast.parse(p.read_text(encoding="utf-8")) for p in allpy}
# classes: name -> list (unique names mostly)
CL={}; byname=collections.defaultdict(list)
for p,t in TREE.items():
    for n in t.body:
        if isinstance(n,ast.ClassDef): CL[mod(p),n.name]=(p,n); byname[n.name].append((mod(p),n.name))
def base_key(p,b):
    while isinstance(b,ast.Subscript): b=b.value
    name=b.attr if isinstance(b,ast.Attribute) else b.id if isinstance(b,ast.Name) else None
    if name is None: return None
    if (mod(p),name) in CL: return mod(p),name
    # imported?
    for n in ast.walk(TREE[p]):
        if isinstance(n,ast.ImportFrom):
            for a in n.names:
                if (a.asname or a.name)==name:
                    ks=[k for k in byname[a.name]]
                    if len(ks)==1: return ks[0]
                    ks=[k for k in ks if k[0]==n.module or k[0].startswith((n.module or "")+".")]
                    return ks[0] if ks else None
    ks=byname[name]; return ks[0] if len(ks)==1 else None
BASES={k:[b for b in(base_key(p,x) for x in n.bases) if b] for k,(p,n) in CL.items()}
DER=collections.defaultdict(set)
for k,bs in BASES.items():
    for b in bs: DER[b].add(k)
def desc(k,seen=None):
    seen=seen or set()
    for d in DER[k]:
        if d not in seen: seen.add(d); desc(d,seen)
    return seen
def anc(k,seen=None):
    seen=seen or set()
    for d in BASES.get(k,[]):
        if d not in seen: seen.add(d); anc(d,seen)
    return seen
def defines(k,a):
    p,n=CL[k]
    for x in n.body:
        if isinstance(x,(ast.FunctionDef,ast.AsyncFunctionDef)) and x.name==a: return True
        if isinstance(x,ast.AnnAssign) and isinstance(x.target,ast.Name) and x.target.id==a: return True
        if isinstance(x,ast.Assign):
            for t in x.targets:
                for y in ast.walk(t):
                    if isinstance(y,ast.Name) and y.id==a: return True
    for y in ast.walk(n):
        if isinstance(y,ast.Attribute) and y.attr==a and isinstance(y.value,ast.Name) and y.value.id=="self" and isinstance(y.ctx,ast.Store): return True
    return False
LINES={}
edits=collections.defaultdict(set)
def cc(p,line,b):
    if p not in LINES: LINES[p]=p.read_text(encoding="utf-8").splitlines(keepends=True)
    return len(LINES[p][line-1].encode()[:b].decode())
def ed(p,line,col,old,new): edits[p].add((line,col,old,new))
FULL=collections.defaultdict(dict)
for k,m in list(R.items()):
    if k not in CL: print("no class",k,list(m)[:3]); continue
    for a,new in m.items():
        up=[x for x in anc(k) if defines(x,a)]
        up=[x for x in up if R.get(x,{}).get(a)!=new]
        if up: print("ancestor defines",k,a,new,up[0]); continue
        if not defines(k,a): print("not defined",k,a); continue
        taken=[x for x in {k}|desc(k)|anc(k) if defines(x,new)]
        if taken and new not in [o for o in R.get(k,{})]: print("name taken",k,a,new,taken[0]); continue
        for x in {k}|desc(k): FULL[x][a]=new
def rename_class(k,m):
    p,n=CL[k]
    def body(x):
        if isinstance(x,(ast.FunctionDef,ast.AsyncFunctionDef)):
            if x.name in m:
                cc(p,x.lineno,0); seg=LINES[p][x.lineno-1]; mt=re.search(r"def\s+"+x.name+r"\b",seg); ed(p,x.lineno,mt.end()-len(x.name),x.name,m[x.name])
            for d in x.decorator_list:
                if isinstance(d,ast.Attribute) and isinstance(d.value,ast.Name) and d.value.id in m: ed(p,d.value.lineno,cc(p,d.value.lineno,d.value.col_offset),d.value.id,m[d.value.id])
            first=(x.args.posonlyargs+x.args.args)[:1]
            if first and first[0].arg in("self","cls","other"):
                for y in ast.walk(x):
                    if isinstance(y,ast.Attribute) and isinstance(y.value,ast.Name) and y.value.id==first[0].arg and y.attr in m:
                        ed(p,y.end_lineno,cc(p,y.end_lineno,y.end_col_offset)-len(y.attr),y.attr,m[y.attr])
            return
        if isinstance(x,ast.AnnAssign) and isinstance(x.target,ast.Name) and x.target.id in m:
            ed(p,x.target.lineno,cc(p,x.target.lineno,x.target.col_offset),x.target.id,m[x.target.id])
            if x.value:
                for y in ast.walk(x.value):
                    if isinstance(y,ast.Name) and y.id in m: ed(p,y.lineno,cc(p,y.lineno,y.col_offset),y.id,m[y.id])
            return
        if isinstance(x,ast.Assign):
            for y in ast.walk(x):
                if isinstance(y,ast.Name) and y.id in m: ed(p,y.lineno,cc(p,y.lineno,y.col_offset),y.id,m[y.id])
    for x in n.body: body(x)
for k,m in FULL.items(): rename_class(k,m)
def flush():
    n=0
    for p,es in edits.items():
        ls=p.read_text(encoding="utf-8").splitlines(keepends=True)
        for line,col,old,new in sorted(es,reverse=True):
            s=ls[line-1]
            if s[col:col+len(old)]!=old: print("off",p,line,col,old); continue
            ls[line-1]=s[:col]+new+s[col+len(old):]; n+=1
        p.write_text("".join(ls),encoding="utf-8")
    edits.clear(); LINES.clear(); return n
print("definitions",flush())
NAMES=collections.defaultdict(dict)   # class name -> old->new
for k,m in FULL.items():
    for a,b in m.items():
        if NAMES[k[1]].get(a,b)!=b: print("ambiguous",k,a)
        NAMES[k[1]][a]=b
GLOBAL=collections.defaultdict(set)
for m in FULL.values():
    for a,b in m.items(): GLOBAL[a].add(b)
json.dump({"names":NAMES},open("members.json","w"))
rx1=re.compile(r'^(\S+?):(\d+):(\d+): error: .*?"(?:type\[)?([\w.]+)[^"]*" has no attribute "(\w+)"')
rx1b=re.compile(r'^(\S+?):(\d+):(\d+): error: Item "(?:type\[)?([\w.]+)[^"]*" of .* has no attribute "(\w+)"')
rx2=re.compile(r'^(\S+?):(\d+):(\d+): error: Unexpected keyword argument "(\w+)" for (?:"[^"]+" of )?"([\w.]+)')
rx3=re.compile(r'^(\S+?):(\d+):(\d+): error: "(\w+)" undefined in superclass')
extra=sys.argv
def run(cmd):
    return subprocess.run(cmd,cwd=ROOT,capture_output=True,text=True).stdout.splitlines()
MY=sys.executable,"-m","mypy"
def lookup(cls,old):
    cls=cls.split(".")[-1]
    if old in NAMES.get(cls,{}): return NAMES[cls][old]
    return None
def loop(cmd,label,rounds=8):
    for r in range(rounds):
        out=run(cmd); rest=[]; trees={}
        for l in out:
            if ": error:" not in l: continue
            m=rx1b.match(l) or rx1.match(l)
            if m:
                f,line,col,cls,old=m[1],int(m[2]),int(m[3]),m[4],m[5]; new=lookup(cls,old)
                if new is None and len(GLOBAL.get(old,()))==1 and cls not in("object",): new=None
                p=ROOT/f
                if new:
                    t=trees.setdefault(p,ast.parse(p.read_text(encoding="utf-8"))); hit=False
                    for y in ast.walk(t):
                        if isinstance(y,ast.Attribute) and y.attr==old and y.lineno==line and cc(p,y.lineno,y.col_offset)+1==col:
                            ed(p,y.end_lineno,cc(p,y.end_lineno,y.end_col_offset)-len(old),old,new); hit=True
                    if hit: continue
                rest.append(l); continue
            m=rx2.match(l)
            if m:
                f,line,old,cls=m[1],int(m[2]),m[4],m[5]; p=ROOT/f; new=lookup(cls,old)
                if new is None and cls in("__init__","_replace","replace","dataclass","<lambda>"): 
                    new=None
                mm=re.search(r'of "([\w.]+)',l)
                if new is None and mm: new=lookup(mm[1],old)
                if new:
                    t=trees.setdefault(p,ast.parse(p.read_text(encoding="utf-8"))); hit=False
                    for y in ast.walk(t):
                        if isinstance(y,ast.Call) and y.lineno<=line<=y.end_lineno and y.lineno==line:
                            for k in y.keywords:
                                if k.arg==old: ed(p,k.lineno,cc(p,k.lineno,k.col_offset),old,new); hit=True
                    if hit: continue
                rest.append(l); continue
            rest.append(l)
        n=flush()
        print(label,"round",r,"edits",n,"rest",len(rest),flush=True)
        if not n: break
    open(f"rest_{label}.log","w").write("\n".join(rest))
loop([MY,"--show-column-numbers","--no-pretty"],"lib")
loop([MY,"--show-column-numbers","--no-pretty","--check-untyped-defs","--ignore-missing-imports","--no-strict","--allow-untyped-defs","--allow-untyped-calls","--allow-incomplete-defs","--no-warn-return-any","--disable-error-code","no-untyped-def","--explicit-package-bases","tests","benchmarks","tools"],"tests",6)
