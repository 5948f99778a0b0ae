import ast,json,pathlib,subprocess,collections,sys,re
ROOT=pathlib.Path(sys.argv[1]); NAMES=json.load(open("members.json"))["names"]
ps=[ROOT/x for x in subprocess.run(["git","-C",str(ROOT),"ls-files","ukctrl/*.py"],capture_output=True,text=True).stdout.split()]
done=[]
for p in ps:
    t=ast.parse(p.read_text(encoding="utf-8")); ren={}; dfn=set()
    for c in t.body:
        if isinstance(c,ast.ClassDef):
            ren.update(NAMES.get(c.name,{}))
            for y in ast.walk(c):
                if isinstance(y,(ast.FunctionDef,)): dfn.add(y.name)
                if isinstance(y,ast.AnnAssign) and isinstance(y.target,ast.Name): dfn.add(y.target.id)
                if isinstance(y,ast.Attribute) and isinstance(y.ctx,ast.Store) and isinstance(y.value,ast.Name) and y.value.id=="self": dfn.add(y.attr)
    ren={a:b for a,b in ren.items() if a not in dfn}
    if not ren: continue
    ls=p.read_text(encoding="utf-8").splitlines(keepends=True)
    cc=lambda line,b: len(ls[line-1].encode()[:b].decode())
    es=set()
    for y in ast.walk(t):
        if isinstance(y,ast.Attribute) and y.attr in ren: es.add((y.end_lineno,cc(y.end_lineno,y.end_col_offset)-len(y.attr),y.attr,ren[y.attr]))
        if isinstance(y,ast.Call) and getattr(y.func,"id","") in("getattr","setattr","hasattr") and len(y.args)>1 and isinstance(y.args[1],ast.Constant) and y.args[1].value in ren:
            k=y.args[1]; es.add((k.lineno,cc(k.lineno,k.col_offset)+1,k.value,ren[k.value]))
    for line,col,old,new in sorted(es,reverse=True):
        s=ls[line-1]; assert s[col:col+len(old)]==old
        ls[line-1]=s[:col]+new+s[col+len(old):]; done.append((str(p.relative_to(ROOT)),line,old,new))
    p.write_text("".join(ls),encoding="utf-8")
print(len(done))
for r in range(4):
    out=subprocess.run([sys.executable,"-m","mypy","--show-column-numbers","--no-pretty"],cwd=ROOT,capture_output=True,text=True).stdout; n=0
    for l in out.splitlines():
        m=re.match(r'^(\S+?):(\d+):\d+: error: .*has no attribute "(\w+)"',l)
        if m:
            for d in done:
                if d[0]==m[1] and d[1]==int(m[2]) and d[3]==m[3]:
                    p=ROOT/d[0]; ls=p.read_text(encoding="utf-8").splitlines(keepends=True)
                    ls[d[1]-1]=re.sub(r"\."+d[3]+r"\b","."+d[2],ls[d[1]-1]); p.write_text("".join(ls),encoding="utf-8"); n+=1; break
    print("reverted",n)
    if not n: print(out[-2500:]); break
