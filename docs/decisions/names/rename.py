"""Apply tables of names: rename.py ROOT TABLE... [--apply]"""
import ast, sys, re, pathlib, subprocess, collections, builtins
args=[a for a in sys.argv[1:] if not a.startswith("--")]
ROOT=pathlib.Path(args[0]); TABLES=args[1:]; APPLY="--apply" in sys.argv
SKIP_PUBLIC="--public" not in sys.argv
rows=collections.defaultdict(list)
for t in TABLES:
    for l in open(t,encoding="utf-8"):
        c=l.rstrip("\n").split("\t")
        if len(c)<3 or c[0] not in("file","class","func","const","method"): continue
        why=c[3] if len(c)>3 else ""
        if SKIP_PUBLIC and "PUBLIC" in why and c[0]!="file": continue
        rows[c[0]].append((c[1].strip(),c[2].strip()))
DEFN={}   # (module, name) -> new
for k in("class","func","const"):
    for old,new in rows[k]:
        m,_,n=old.partition(":")
        if not re.fullmatch(r"\w+",n) or not re.fullmatch(r"\w+",new): print("skip",old,new); continue
        mm="ukctrl."+m.replace("/","."); mm=mm[:-9] if mm.endswith(".__init__") else mm
        DEFN[mm,n]=new
FILES={}
for old,new in rows["file"]:
    if not re.fullmatch(r"[\w/]+",new): print("skip file",old,new); continue
    FILES["ukctrl."+old.replace("/",".")]="ukctrl."+new.replace("/",".")
def modname(p):
    r=p.relative_to(ROOT).with_suffix("").parts
    if r[-1]=="__init__": r=r[:-1]
    return ".".join(r)
MODFILES={ (k[:-9] if k.endswith(".__init__") else k):(v[:-9] if v.endswith(".__init__") else v) for k,v in FILES.items()}
paths=[pathlib.Path(ROOT,x) for x in subprocess.run(["git","-C",str(ROOT),"ls-files","*.py"],capture_output=True,text=True).stdout.split()]
paths=[p for p in paths if p.exists()]
SRC={p:p.read_text(encoding="utf-8") for p in paths}
TREE={p:ast.parse(SRC[p]) for p in paths}
MOD={modname(p):p for p in paths}
ISPKG={modname(p) for p in paths if p.name=="__init__.py"}
class Scope:
    def __init__(s,node,parent): s.node,s.parent=node,parent; s.bind={}; s.globals=set(); s.uses=[]
def absmod(mod,p,level,name):
    if level==0: return name
    base=mod.split(".")
    if p.name!="__init__.py": base=base[:-1]
    base=base[:len(base)-(level-1)]
    return ".".join(base+([name] if name else []))
class V(ast.NodeVisitor):
    """collect scopes; bind name-> origin"""
    def __init__(s,p):
        s.p,s.mod=p,modname(p); s.scopes=[]; s.cur=Scope(TREE[p],None); s.top=s.cur; s.scopes.append(s.cur); s.aliases=[]; s.attrs=[]
        for n in TREE[p].body: s.visit(n)
    def b(s,name,origin,scope=None):
        sc=scope or s.cur
        if name in sc.globals: sc=s.top
        if name in sc.bind and sc.bind[name]!=origin and origin[0]=="var" and sc.bind[name][0]!="var": return
        sc.bind[name]=origin
    def new(s,node):
        c=Scope(node,s.cur); s.scopes.append(c); return c
    def visit_Import(s,n):
        for a in n.names:
            if a.asname: s.b(a.asname,("mod",a.name))
            else: s.b(a.name.split(".")[0],("mod",a.name.split(".")[0]))
            s.aliases.append((a,n,s.cur))
    def visit_ImportFrom(s,n):
        m=absmod(s.mod,s.p,n.level,n.module)
        for a in n.names:
            full=f"{m}.{a.name}"
            if full in MOD: o=("mod",full)
            else: o=("from",m,a.name)
            s.b(a.asname or a.name,o); s.aliases.append((a,n,s.cur))
    def fun(s,n):
        if not isinstance(n,ast.Lambda):
            for d in n.decorator_list: s.visit(d)
            s.b(n.name,("def",s.mod,n.name) if s.cur is s.top else ("var",))
            if s.cur is s.top: s.top.uses.append((n.name,None,n))
        a=n.args
        for x in a.defaults+[k for k in a.kw_defaults if k]: s.visit(x)
        if not isinstance(n,ast.Lambda):
            for x in a.posonlyargs+a.args+a.kwonlyargs+[y for y in(a.vararg,a.kwarg) if y]:
                if x.annotation: s.visit(x.annotation)
            if n.returns: s.visit(n.returns)
        c=s.new(n); old=s.cur; 
        # class scopes are not enclosing for functions
        c.parent=old if not isinstance(old.node,ast.ClassDef) else old.parent_fn
        s.cur=c
        for x in a.posonlyargs+a.args+a.kwonlyargs+[y for y in(a.vararg,a.kwarg) if y]: c.bind[x.arg]=("var",)
        for t in getattr(n,"type_params",[]): c.bind[t.name]=("var",)
        body=n.body if isinstance(n.body,list) else [n.body]
        for x in body: s.visit(x)
        s.cur=old
    visit_FunctionDef=visit_AsyncFunctionDef=visit_Lambda=fun
    def visit_ClassDef(s,n):
        for d in n.decorator_list+n.bases+[k.value for k in n.keywords]: s.visit(d)
        s.b(n.name,("def",s.mod,n.name) if s.cur is s.top else ("var",))
        if s.cur is s.top: s.top.uses.append((n.name,None,n))
        c=s.new(n); c.parent_fn=s.cur if not isinstance(s.cur.node,ast.ClassDef) else s.cur.parent_fn; c.parent=c.parent_fn
        old=s.cur; s.cur=c
        for x in n.body: s.visit(x)
        s.cur=old
    def comp(s,n):
        first=True; old=s.cur; c=s.new(n); c.parent=old if not isinstance(old.node,ast.ClassDef) else old
        for g in n.generators:
            if first: s.visit(g.iter); s.cur=c; first=False
            else: s.visit(g.iter)
            s.visit(g.target)
            for i in g.ifs: s.visit(i)
        for f in("elt","key","value"):
            if hasattr(n,f): s.visit(getattr(n,f))
        s.cur=old
    visit_ListComp=visit_SetComp=visit_DictComp=visit_GeneratorExp=comp
    def visit_Global(s,n):
        s.cur.globals|=set(n.names); s.glob=getattr(s,'glob',[])+[n]
    visit_Nonlocal=lambda s,n: None
    def visit_NamedExpr(s,n):
        s.visit(n.value)
        sc=s.cur
        while isinstance(sc.node,(ast.ListComp,ast.SetComp,ast.DictComp,ast.GeneratorExp)): sc=sc.parent
        s.b(n.target.id,("def",s.mod,n.target.id) if sc is s.top else ("var",),sc); s.cur.uses.append((n.target.id,n.target,None))
    def visit_Name(s,n):
        if isinstance(n.ctx,(ast.Store,ast.Del)): s.b(n.id,("def",s.mod,n.id) if s.cur is s.top else ("var",))
        s.cur.uses.append((n.id,n,None))
    def visit_ExceptHandler(s,n):
        if n.type: s.visit(n.type)
        if n.name: s.b(n.name,("var",))
        for x in n.body: s.visit(x)
    def visit_MatchAs(s,n):
        if n.name: s.b(n.name,("var",))
        s.generic_visit(n)
    visit_MatchStar=visit_MatchAs
    def visit_TypeAlias(s,n):
        s.b(n.name.id,("def",s.mod,n.name.id) if s.cur is s.top else ("var",)); s.cur.uses.append((n.name.id,n.name,None)); s.visit(n.value)
    def visit_Attribute(s,n):
        s.attrs.append((n,s.cur)); s.visit(n.value)
VS={p:V(p) for p in paths}
for v_ in VS.values():
    for sc_ in v_.scopes:
        for k_,o_ in list(sc_.bind.items()):
            if o_[0]=="mod" and o_[1] in MOD and "." in o_[1]:
                par,base=o_[1].rsplit(".",1)
                if par in ISPKG and VS[MOD[par]].top.bind.get(base,("",))[0] in("from","def") and VS[MOD[par]].mod!=v_.mod:
                    sc_.bind[k_]=("from",par,base)
def look(sc,name):
    while sc is not None:
        if name in sc.bind: return sc,sc.bind[name]
        sc=sc.parent
    return None,None
seen={}
def resolve(m,n,depth=0):
    """definition of name n in module m -> (mod,name) or ('mod',module)"""
    if depth>12: return None
    full=f"{m}.{n}"
    p=MOD.get(m)
    if p is None: return None
    o=VS[p].top.bind.get(n)
    if o is None: return ("mod",full) if full in MOD else None
    if o[0]=="def": return (o[1],o[2])
    if o[0]=="mod": return o
    if o[0]=="from": return resolve(o[1],o[2],depth+1)
    return None
def origin(o):
    if o is None: return None
    if o[0]=="def": return (o[1],o[2])
    if o[0]=="mod": return o
    if o[0]=="from": return resolve(o[1],o[2])
def newname(d):
    if d is None: return None
    if d[0]=="mod":
        t=MODFILES.get(d[1]); return t.rsplit(".",1)[1] if t and t.rsplit(".",1)[1]!=d[1].rsplit(".",1)[1] else None
    return DEFN.get(d)
used=set(); edits=collections.defaultdict(list); conflicts=[]
def edit(p,line,col,old,new): edits[p].append((line,col,old,new))
def lines(p): return SRC[p].splitlines(keepends=True)
def charcol(p,line,bcol): return len(LINES[p][line-1].encode()[:bcol].decode())
LINES={p:lines(p) for p in paths}
def localnew(sc,newn,defscope):
    """is newn bound between sc and defscope (exclusive) or at top"""
    while sc is not None and sc is not defscope:
        if newn in sc.bind: return sc
        sc=sc.parent
    return None
for p in paths:
    v=VS[p]
    renamed_locals={}  # (id(scope),name)->new  for imports
    for sc in v.scopes:
        for name,o in sc.bind.items():
            d=origin(o)
            if d is None: continue
            nn=newname(d)
            if not nn: continue
            # alias idiom: import X as Y where Y != X : local binding stays
            if o[0] in("from","mod"):
                al=[a for a,n,s2 in v.aliases if s2 is sc and (a.asname or a.name)==name]
                if o[0]=="mod" and not any(isinstance(n,ast.ImportFrom) for a,n,s2 in v.aliases if s2 is sc and (a.asname or a.name)==name): continue
                if al and al[0].asname and al[0].asname!=al[0].name: continue
                tgt=d
                lastold=(d[1].rsplit(".",1)[1] if d[0]=="mod" else d[1])
                if name!=lastold: continue
            dup=[k for k,w in renamed_locals.items() if k[0]==id(sc) and w==nn and k[1]!=name]
            if dup: conflicts.append((p,"two become one",name,nn,dup[0][1]))
            renamed_locals[id(sc),name]=nn
            if nn in sc.bind and (id(sc),nn) not in renamed_locals:
                o2=sc.bind[nn]; d2=origin(o2)
                if not (d2 and newname(d2)): conflicts.append((p,"same scope",name,nn,getattr(sc.node,"name","module")))
    for a,n,sc in v.aliases:
        if isinstance(n,ast.ImportFrom):
            m=absmod(v.mod,p,n.level,n.module)
            isattr=m in ISPKG and VS[MOD[m]].top.bind.get(a.name,("",))[0] in("from","def")
            d=resolve(m,a.name) if isattr or f"{m}.{a.name}" not in MOD else ("mod",f"{m}.{a.name}")
            nn=newname(d)
            lastold=None if d is None else (d[1].rsplit(".",1)[1] if d[0]=="mod" else d[1])
            if nn and a.name==lastold:
                c=charcol(p,a.lineno,a.col_offset)
                edit(p,a.lineno,c,a.name,nn)
                if a.asname==a.name:
                    seg=LINES[p][a.lineno-1]; i=seg.index(" as ",c)+4
                    edit(p,a.lineno,i,a.asname,nn)
                used.add(d)
    for sc in v.scopes:
        for name,node,defn in sc.uses:
            dsc,o=look(sc,name)
            if dsc is None: continue
            nn=renamed_locals.get((id(dsc),name))
            if not nn: continue
            hit=localnew(sc,nn,dsc)
            if hit is not None: conflicts.append((p,"local",name,nn,getattr(hit.node,"name",type(hit.node).__name__)))
            if node is not None: edit(p,node.lineno,charcol(p,node.lineno,node.col_offset),name,nn)
            else:
                l=defn.lineno; 
                seg=LINES[p][l-1]; m=re.compile(r"(def|class)\s+"+name+r"\b").search(seg); edit(p,l,m.end()-len(name),name,nn)
            used.add(origin(o))
    for n,sc in v.attrs:
        # dotted chain to module
        chain=[]; x=n
        while isinstance(x,ast.Attribute): chain.append(x.attr); x=x.value
        if not isinstance(x,ast.Name): continue
        dsc,o=look(sc,x.id); d=origin(o)
        if d is None or d[0]!="mod": continue
        m=d[1]; ok=True
        for at in reversed(chain[1:]):
            r=resolve(m,at)
            if r and r[0]=="mod": m=r[1]
            else: ok=False; break
        if not ok: continue
        r=resolve(m,n.attr)
        nn=newname(r)
        if nn:
            e_line,e_col=n.end_lineno,charcol(p,n.end_lineno,n.end_col_offset)-len(n.attr)
            edit(p,e_line,e_col,n.attr,nn); used.add(r)
    for g in getattr(v,'glob',[]):
        seg=LINES[p][g.lineno-1]
        for name in g.names:
            nn=renamed_locals.get((id(v.top),name))
            if nn: edit(p,g.lineno,re.search(r'\b'+name+r'\b',seg).start(),name,nn)
    for c in ast.walk(TREE[p]):
        if isinstance(c,(ast.Subscript,ast.Call)):
            for k in ([c.slice] if isinstance(c,ast.Subscript) else c.args+[w.value for w in c.keywords]):
                if isinstance(k,ast.Constant) and isinstance(k.value,str) and re.fullmatch(r'_?[A-Z]\w*',k.value) and k.lineno==k.end_lineno:
                    nn=renamed_locals.get((id(v.top),k.value))
                    if nn: edit(p,k.lineno,charcol(p,k.lineno,k.col_offset)+1,k.value,nn)
    for c in ast.walk(TREE[p]):
        if isinstance(c,ast.Call) and len(c.args)>=2 and isinstance(c.args[1],ast.Constant) and isinstance(c.args[1].value,str) and isinstance(c.func,(ast.Attribute,ast.Name)):
            fn=c.func.attr if isinstance(c.func,ast.Attribute) else c.func.id
            if fn not in("setattr","getattr","hasattr","delattr","object"): continue
            x=c.args[0]; chain=[]
            while isinstance(x,ast.Attribute): chain.append(x.attr); x=x.value
            if not isinstance(x,ast.Name): continue
            o=None
            for sc in v.scopes:
                if x.id in sc.bind and sc.bind[x.id][0]!="var": o=sc.bind[x.id]
            d=origin(o)
            if d is None or d[0]!="mod": continue
            m=d[1]; ok=True
            for at in reversed(chain):
                r=resolve(m,at)
                if r and r[0]=="mod": m=r[1]
                else: ok=False; break
            if not ok: continue
            r=resolve(m,c.args[1].value); nn=newname(r)
            if nn and c.args[1].lineno==c.args[1].end_lineno:
                edit(p,c.args[1].lineno,charcol(p,c.args[1].lineno,c.args[1].col_offset)+1,c.args[1].value,nn)
    # __all__ strings
    for node in TREE[p].body:
        if isinstance(node,(ast.Assign,ast.AnnAssign)) and ast.unparse(node.targets[0] if isinstance(node,ast.Assign) else node.target)=="__all__":
            for c in ast.walk(node):
                if isinstance(c,ast.Constant) and isinstance(c.value,str):
                    o=v.top.bind.get(c.value); nn=renamed_locals.get((id(v.top),c.value))
                    if nn: edit(p,c.lineno,charcol(p,c.lineno,c.col_offset)+1,c.value,nn)
newmods={MODFILES.get(m,m) for m in MOD}
for p in paths:
    if p.name=="__init__.py" and str(p.relative_to(ROOT)).startswith("ukctrl/"):
        m0=modname(p); m1=MODFILES.get(m0,m0)
        for name,o in VS[p].top.bind.items():
            d=origin(o)
            if d and d[0]!="mod":
                nn=DEFN.get(d,name) if name==d[1] else name
                if f"{m1}.{nn}" in newmods and not (f"{m0}.{name}" in MOD): print("module and name alike:",m1,nn,"from",d)
missing=[d for d in DEFN if d not in used]
for d in missing[:60]: print("unused row",d,DEFN[d])
print(len(conflicts),"conflicts")
for c in sorted(set(conflicts),key=str): print("  conflict",c[0].relative_to(ROOT),*c[1:])
print(sum(len(set(e)) for e in edits.values()),"edits in",len(edits),"files")
if not APPLY: sys.exit()
bad={(c[0],c[2]) for c in conflicts}
for p,es in edits.items():
    ls=LINES[p][:]
    for line,col,old,new in sorted(set(es),reverse=True):
        s=ls[line-1]; assert s[col:col+len(old)]==old,(p,line,col,old,s)
        ls[line-1]=s[:col]+new+s[col+len(old):]
    SRC[p]="".join(ls); p.write_text(SRC[p],encoding="utf-8")
# text references: dotted names
texts=[pathlib.Path(ROOT,x) for x in subprocess.run(["git","-C",str(ROOT),"ls-files"],capture_output=True,text=True).stdout.split("\n") if x]
texts=[t for t in texts if t.exists() and t.suffix in(".py",".md",".toml",".yml",".j2",".txt",".cfg",".js",".json",".ipynb","") and not str(t.relative_to(ROOT)).startswith("findings")]
dotted={f"{m}.{n}":f"{m}.{nn}" for (m,n),nn in DEFN.items()}
dotted.update({f"{m}:{n}":f"{m}:{nn}" for (m,n),nn in DEFN.items()})
rx=re.compile(r"\bukctrl\.[\w.]+(?::\w+)?")
def sub(mt):
    t=mt[0]; tail=""
    while True:
        if t in dotted: return dotted[t]+tail
        i=max(t.rfind("."),t.rfind(":"))
        if i<8: return mt[0]
        tail=t[i:]+tail; t=t[:i]
for t in texts:
    try: s=t.read_text(encoding="utf-8")
    except UnicodeDecodeError: continue
    n=rx.sub(sub,s)
    if t.suffix==".py" and str(t.relative_to(ROOT)).startswith("ukctrl/") or True:
        pass
    if n!=s: t.write_text(n,encoding="utf-8")
# backticked names in docstrings and comments of the defining file
bym=collections.defaultdict(dict)
for (m,n),nn in DEFN.items(): bym[m][n]=nn
for p in paths:
    v=VS[p]; names={}
    for name,o in v.top.bind.items():
        d=origin(o)
        if d and d[0]!="mod" and d in DEFN and name==d[1]: names[name]=DEFN[d]
    if not names: continue
    s=p.read_text(encoding="utf-8")
    n=re.sub(r"(?<!`)`(\w+)((?:\.\w+)*(?:\(\))?)`(?!`)",lambda m_: f"`{names.get(m_[1],m_[1])}{m_[2]}`",s)
    if n!=s: p.write_text(n,encoding="utf-8")
