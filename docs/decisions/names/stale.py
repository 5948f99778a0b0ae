"""stale.py ROOT: attributes that no class of the repository defines any more, renamed where there is one answer"""
import ast,json,pathlib,subprocess,collections,sys,re
ROOT=pathlib.Path(sys.argv[1]); NAMES=json.load(open("members.json"))["names"]
G=collections.defaultdict(collections.Counter)
for c,m in NAMES.items():
    for a,b in m.items(): G[a][b]+=1
ps=[ROOT/x for x in subprocess.run(["git","-C",str(ROOT),"ls-files","*.py"],capture_output=True,text=True).stdout.split() if not x.startswith("findings")]
T={p:ast.parse(p.read_text(encoding="utf-8")) for p in ps}
defined=collections.Counter()
for p,t in T.items():
    if p.is_relative_to(ROOT/"ukctrl"):
        for n in ast.walk(t):
            if isinstance(n,ast.ClassDef):
                for x in n.body:
                    if isinstance(x,(ast.FunctionDef,ast.AsyncFunctionDef)): defined[x.name]+=1
                    elif isinstance(x,ast.AnnAssign) and isinstance(x.target,ast.Name): defined[x.target.id]+=1
                    elif isinstance(x,ast.Assign):
                        for y in ast.walk(x):
                            if isinstance(y,ast.Name) and isinstance(y.ctx,ast.Store): defined[y.id]+=1
                for y in ast.walk(n):
                    if isinstance(y,ast.Attribute) and isinstance(y.ctx,ast.Store) and isinstance(y.value,ast.Name) and y.value.id=="self": defined[y.attr]+=1
import numpy,builtins
ext=set()
for o in (str,list,dict,set,int,float,tuple,numpy.ndarray,pathlib.Path,type,object,numpy,re,ast,json,collections,subprocess,sys): ext|=set(dir(o))
EXTRA=set("stop done kind call first last left right data value count index step start end".split())
E=collections.defaultdict(set); amb=collections.Counter()
for p,t in T.items():
    L=p.read_text(encoding="utf-8").splitlines(keepends=True)
    cc=lambda line,b: len(L[line-1].encode()[:b].decode())
    for y in ast.walk(t):
        if isinstance(y,ast.Attribute) and y.attr in G and not defined[y.attr] and y.attr not in ext|EXTRA:
            if len(G[y.attr])==1: E[p].add((y.end_lineno,cc(y.end_lineno,y.end_col_offset)-len(y.attr),y.attr,next(iter(G[y.attr]))))
            else: amb[str(p.relative_to(ROOT)),y.attr,tuple(G[y.attr])]+=1
        if isinstance(y,ast.Call):
            fn=y.func.attr if isinstance(y.func,ast.Attribute) else getattr(y.func,"id","")
            if fn in("setattr","getattr","hasattr","delattr","attrgetter","methodcaller","delitem","object"):
                for k in y.args[:2]:
                    if isinstance(k,ast.Constant) and isinstance(k.value,str) and k.value in G and not defined[k.value] and k.value not in ext|EXTRA and len(G[k.value])==1:
                        E[p].add((k.lineno,cc(k.lineno,k.col_offset)+1,k.value,next(iter(G[k.value]))))
            if not p.is_relative_to(ROOT/"ukctrl") and fn and fn[0].isupper() or fn in("_replace","replace","SimpleNamespace"):
                for k in y.keywords:
                    if k.arg in G and not defined[k.arg] and len(G[k.arg])==1 and fn in("_replace","replace","SimpleNamespace") or (k.arg in NAMES.get(fn,{})):
                        new=NAMES.get(fn,{}).get(k.arg) or next(iter(G[k.arg])); E[p].add((k.lineno,cc(k.lineno,k.col_offset),k.arg,new))
n=0
for p,es in E.items():
    ls=p.read_text(encoding="utf-8").splitlines(keepends=True)
    for line,col,old,new in sorted(es,reverse=True):
        s=ls[line-1]
        if s[col:col+len(old)]!=old: print("off",p,line,old); continue
        ls[line-1]=s[:col]+new+s[col+len(old):]; n+=1
    p.write_text("".join(ls),encoding="utf-8")
print("stale edits",n)
for k,v in sorted(amb.items()): print("ambiguous",*k,v)
