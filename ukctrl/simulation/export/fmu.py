"""A C library as a functional mock-up unit, for co-simulation by FMI 3.0 or 2.0.

Its step is the control period. A controller reads ``q`` and ``v`` as measured at its begin, and
gives the inputs of the robot until its end; a plant reads those, and gives ``q`` and ``v`` then.
"""

from __future__ import annotations

import io
import shutil
import uuid
import zipfile
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from xml.sax.saxutils import quoteattr

from ukctrl.core.errors import InputError
from ukctrl.core.message_text import one_line
from ukctrl.simulation.export.c_library import CLibrary, built

COMPILERS = {
    "x86-64": ("cc", "gcc", "clang"),
    "x86-64-v3": ("cc", "gcc", "clang"),
    "aarch64": ("aarch64-linux-gnu-gcc",),
}
"""What makes a shared library for a processor, the first that there is."""
PLATFORMS = {
    2: {"x86-64": "linux64", "x86-64-v3": "linux64"},
    3: {"x86-64": "x86_64-linux", "x86-64-v3": "x86_64-linux", "aarch64": "aarch64-linux"},
}
"""Folder of binaries within a unit, by version of FMI and processor."""
VARIABILITY = {"input": "continuous", "output": "discrete", "parameter": "tunable"}
BASE_UNITS = {
    "rad": {"rad": 1}, "rad/s": {"rad": 1, "s": -1}, "m": {"m": 1}, "m/s": {"m": 1, "s": -1},
    "1/s": {"s": -1}, "1/s^2": {"s": -2}, "1/s^3": {"s": -3},
    "N": {"kg": 1, "m": 1, "s": -2}, "N m": {"kg": 1, "m": 2, "s": -2},
}  # fmt: skip
"""Exponents of units that FMI knows; others are left to descriptions."""


def functional_mockup_unit(
    library: CLibrary, fmi: int = 3, targets: Sequence[str] = ("x86-64",)
) -> bytes:
    """Return a unit as the content of its file.

    Args:
        library: The controller or plant.
        fmi: Version of FMI, 2 or 3.
        targets: Processors that it has binaries for.

    Raises:
        InputError: This version of FMI does not know a processor, two are of one family, there is
            no C compiler for one, or it does not take the unit.
    """
    folders = _folders(fmi, targets)
    token = str(uuid.uuid5(uuid.NAMESPACE_OID, library.code.hex()))
    file, source = io.BytesIO(), _sources(library, fmi, token)
    binaries = {
        f"binaries/{folder}/{library.name}.so": _binary(library, target, source)
        for target, folder in folders.items()
    }
    files = {
        "modelDescription.xml": _description(library, fmi, token).encode(),
        **binaries,
        f"documentation/{library.name}.h": source[f"{library.name}.h"],
    }
    with zipfile.ZipFile(file, "w") as archive:
        for name, content in files.items():
            # times of files would make each archive another one
            entry = zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0))
            entry.external_attr = 0o755 << 16
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def _folders(fmi: int, targets: Sequence[str]) -> dict[str, str]:
    """Return the folder of each processor's binary."""
    known = PLATFORMS[fmi]
    for target in targets:
        if target not in known:
            raise InputError(
                f"a unit of FMI {fmi} has binaries for {', '.join(known)}; got '{target}'."
            )
    folders = {target: known[target] for target in targets}
    if len(set(folders.values())) < len(folders):
        raise InputError("a unit has one binary for x86-64: give x86-64 or x86-64-v3.")
    return folders


def _binary(library: CLibrary, target: str, source: Mapping[str, bytes]) -> bytes:
    """Return a unit's shared library for a processor."""
    compiler = next(filter(None, map(shutil.which, COMPILERS[target])), None)
    if compiler is None:
        names = " or ".join(COMPILERS[target][-2:])
        raise InputError(f"a unit of FMI for {target} needs a C compiler: install {names}.")
    files = {**source, f"{library.name}.o": library.code_for(target)}
    options = "-O2", "-std=c99", "-fPIC", "-shared", "-fvisibility=hidden"
    binary, said = built(files, compiler, *options, "fmu.c", f"{library.name}.o")
    if not binary:
        raise InputError(f"the C compiler does not take the unit: {one_line(said)}")
    return binary


def _sources(library: CLibrary, fmi: int, token: str) -> dict[str, bytes]:
    text = library.filled(
        COMMON + (FMI3 if fmi == 3 else FMI2), token=token, first_output=str(library.first_output)
    )
    return {
        "fmu.c": text.encode(),
        f"{library.name}.h": library.header().encode(),
    }


def _description(library: CLibrary, fmi: int, token: str) -> str:
    """Return the model description: variables with units, and what a master may do."""
    named = library.variables()
    units = dict.fromkeys(one.unit for one in named if one.unit in BASE_UNITS)
    exponents = {
        unit: " ".join(f'{base}="{power}"' for base, power in BASE_UNITS[unit].items())
        for unit in units
    }
    unit_text = "".join(
        f"    <Unit name={quoteattr(unit)}><BaseUnit {text}/></Unit>\n"
        for unit, text in exponents.items()
    )
    lines = []
    for reference, (name, unit, kind, value) in enumerate(named, 1):
        common = (
            f'name={quoteattr(name)} valueReference="{reference}" causality="{kind}" '
            f'variability="{VARIABILITY[kind]}"'
        )
        has_unit = f" unit={quoteattr(unit)}" if unit in BASE_UNITS else ""
        start = "" if kind == "output" else f' start="{value!r}"'
        initial = ' initial="calculated"' if kind == "output" else ""
        if fmi == 3:
            lines.append(f"    <Float64 {common}{initial}{has_unit}{start}/>")
        else:
            lines.append(
                f"    <ScalarVariable {common}{initial}><Real{has_unit}{start}/></ScalarVariable>"
            )
    outputs = [k for k, one in enumerate(named, 1) if one.kind == "output"]
    period = f"{library.period:g}"
    head = (
        f"modelName={quoteattr(library.name)} description={quoteattr(library.title)} "
        f'generationTool="ukctrl {version("ukctrl")}"'
    )
    experiment = f'  <DefaultExperiment startTime="0" stepSize="{period}"/>\n'
    if fmi == 3:
        structure = "".join(f'    <Output valueReference="{k}"/>\n' for k in outputs)
        unknown = "".join(f'    <InitialUnknown valueReference="{k}"/>\n' for k in outputs)
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n'
            f'<fmiModelDescription fmiVersion="3.0" {head} instantiationToken="{token}">\n'
            f'  <CoSimulation modelIdentifier="{library.name}" canGetAndSetFMUState="true" '
            f'canSerializeFMUState="true" fixedInternalStepSize="{period}"/>\n'
            f"  <UnitDefinitions>\n{unit_text}  </UnitDefinitions>\n{experiment}"
            '  <ModelVariables>\n    <Float64 name="time" valueReference="0" '
            'causality="independent" variability="continuous"/>\n'
            + "\n".join(lines)
            + f"\n  </ModelVariables>\n  <ModelStructure>\n{structure}{unknown}"
            "  </ModelStructure>\n</fmiModelDescription>\n"
        )
    places = "".join(f'      <Unknown index="{k}"/>\n' for k in outputs)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<fmiModelDescription fmiVersion="2.0" {head} guid="{{{token}}}">\n'
        f'  <CoSimulation modelIdentifier="{library.name}" canGetAndSetFMUstate="true" '
        'canSerializeFMUstate="true" canHandleVariableCommunicationStepSize="false"/>\n'
        f"  <UnitDefinitions>\n{unit_text}  </UnitDefinitions>\n{experiment}"
        "  <ModelVariables>\n" + "\n".join(lines) + "\n  </ModelVariables>\n  <ModelStructure>\n"
        f"    <Outputs>\n{places}    </Outputs>\n    <InitialUnknowns>\n{places}"
        "    </InitialUnknowns>\n  </ModelStructure>\n</fmiModelDescription>\n"
    )


COMMON = r"""
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "@name@.h"

#define API __attribute__((visibility("default")))
enum { STATUS_OK = 0, STATUS_DISCARD = 2, STATUS_ERROR = 3, FIRST_OUTPUT = @first_output@ };
enum { FIRST_GAIN = FIRST_OUTPUT + @n_out@, VARIABLES = @n_in@ + @nc@ + @n_out@ + @ng@ };
static const double STARTS[VARIABLES] = { @starts@ };
#define UNUSED(x) (void)(x)

typedef struct {
    @name@_t stepped;
    double value[1 + VARIABLES]; /* by value reference; the first is the time */
} Unit;

static void unit_begin(Unit *unit)
{
    memset(unit, 0, sizeof *unit);
    memcpy(unit->value + 1, STARTS, sizeof STARTS);
    @name@_init(&unit->stepped);
}

static Unit *unit_new(void)
{
    Unit *unit = malloc(sizeof *unit);
    if (unit) unit_begin(unit);
    return unit;
}

static int unit_get(const Unit *unit, const unsigned *where, size_t count, double *values)
{
    size_t k;
    for (k = 0; k < count; k++) {
        if (where[k] > VARIABLES) return STATUS_ERROR;
        values[k] = unit->value[where[k]];
    }
    return STATUS_OK;
}

static int unit_set(Unit *unit, const unsigned *where, size_t count, const double *values)
{
    size_t k;
    for (k = 0; k < count; k++) {
        const unsigned at = where[k];
        if (!at || at > VARIABLES || (at >= FIRST_OUTPUT && at < FIRST_GAIN)) return STATUS_ERROR;
        unit->value[at] = values[k];
    }
#if @NAME@_GAINS
    if (@name@_gains(&unit->stepped, unit->value + FIRST_GAIN)) return STATUS_ERROR;
#endif
    return STATUS_OK;
}

static int unit_step(Unit *unit, double t, double h)
{
    int status;
    if (fabs(h - @NAME@_PERIOD) > 1e-9 * @NAME@_PERIOD) return STATUS_ERROR;
#if @NAME@_CONTACTS
    {
        int contacts[@NAME@_CONTACTS], i;
        for (i = 0; i < @nc@; i++) contacts[i] = (int)unit->value[1 + @n_in@ + i];
        @name@_contacts(&unit->stepped, contacts);
    }
#endif
    status = @name@_step(&unit->stepped, t, @unit_call@);
    unit->value[0] = t + h;
    return status ? STATUS_ERROR : STATUS_OK;
}

static int state_get(void *unit, void **state)
{
    if (!*state) *state = malloc(sizeof(Unit));
    if (!*state) return STATUS_ERROR;
    memcpy(*state, unit, sizeof(Unit));
    return STATUS_OK;
}

static int state_set(void *unit, void *state)
{
    memcpy(unit, state, sizeof(Unit));
    @name@_moved(&((Unit *)unit)->stepped);
    return STATUS_OK;
}

static int state_free(void *unit, void **state)
{
    UNUSED(unit);
    free(*state);
    *state = NULL;
    return STATUS_OK;
}

static int state_write(void *unit, void *state, void *bytes, size_t size)
{
    UNUSED(unit);
    if (size < sizeof(Unit)) return STATUS_ERROR;
    memcpy(bytes, state, sizeof(Unit));
    return STATUS_OK;
}

static int state_read(void *unit, const void *bytes, size_t size, void **state)
{
    UNUSED(unit);
    if (size < sizeof(Unit) || !(*state = malloc(sizeof(Unit)))) return STATUS_ERROR;
    memcpy(*state, bytes, sizeof(Unit));
    return STATUS_OK;
}
"""
FMI3 = r"""
typedef int Status;
typedef void *Instance;
typedef const char *String;
typedef unsigned Reference;

API String fmi3GetVersion(void) { return "3.0"; }
API Status fmi3SetDebugLogging(Instance a, _Bool b, size_t c, const String d[])
{ UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); return STATUS_OK; }
API Instance fmi3InstantiateCoSimulation(String name, String token, String path, _Bool visible,
    _Bool logging, _Bool events, _Bool early, const Reference *between, size_t count, void *mine,
    void *log, void *update)
{
    UNUSED(name); UNUSED(path); UNUSED(visible); UNUSED(logging); UNUSED(events); UNUSED(early);
    UNUSED(between); UNUSED(count); UNUSED(mine); UNUSED(log); UNUSED(update);
    return token && !strcmp(token, "@token@") ? unit_new() : NULL;
}
API Instance fmi3InstantiateModelExchange(String a, String b, String c, _Bool d, _Bool e, void *f,
    void *g)
{ UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); UNUSED(e); UNUSED(f); UNUSED(g); return NULL; }
API Instance fmi3InstantiateScheduledExecution(String a, String b, String c, _Bool d, _Bool e,
    void *f, void *g, void *h, void *i, void *j)
{
    UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); UNUSED(e); UNUSED(f); UNUSED(g); UNUSED(h);
    UNUSED(i); UNUSED(j); return NULL;
}
API void fmi3FreeInstance(Instance unit) { free(unit); }
API Status fmi3GetFMUState(Instance unit, void **state) { return state_get(unit, state); }
API Status fmi3SetFMUState(Instance unit, void *state) { return state_set(unit, state); }
API Status fmi3FreeFMUState(Instance unit, void **state) { return state_free(unit, state); }
API Status fmi3SerializedFMUStateSize(Instance unit, void *state, size_t *size)
{ UNUSED(unit); UNUSED(state); *size = sizeof(Unit); return STATUS_OK; }
API Status fmi3SerializeFMUState(Instance unit, void *state, uint8_t bytes[], size_t size)
{ return state_write(unit, state, bytes, size); }
API Status fmi3DeserializeFMUState(Instance unit, const uint8_t bytes[], size_t size, void **state)
{ return state_read(unit, bytes, size, state); }
API Status fmi3EnterInitializationMode(Instance unit, _Bool a, double b, double start, _Bool c,
    double d)
{
    UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d);
    ((Unit *)unit)->value[0] = start;
    return STATUS_OK;
}
API Status fmi3ExitInitializationMode(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi3EnterStepMode(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi3Terminate(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi3Reset(Instance instance)
{
    unit_begin(instance);
    return STATUS_OK;
}
API Status fmi3GetFloat64(Instance unit, const Reference *where, size_t n, double *values, size_t m)
{ return n == m ? unit_get(unit, where, n, values) : STATUS_ERROR; }
API Status fmi3SetFloat64(Instance unit, const Reference *where, size_t n, const double *values,
    size_t m)
{ return n == m ? unit_set(unit, where, n, values) : STATUS_ERROR; }
#define NONE(TYPE, C) \
    API Status fmi3Get##TYPE(Instance u, const Reference *r, size_t n, C *x, size_t m) \
    { UNUSED(u); UNUSED(r); UNUSED(x); UNUSED(m); return n ? STATUS_ERROR : STATUS_OK; } \
    API Status fmi3Set##TYPE(Instance u, const Reference *r, size_t n, const C *x, size_t m) \
    { UNUSED(u); UNUSED(r); UNUSED(x); UNUSED(m); return n ? STATUS_ERROR : STATUS_OK; }
NONE(Float32, float) NONE(Int8, int8_t) NONE(UInt8, uint8_t) NONE(Int16, int16_t)
NONE(UInt16, uint16_t) NONE(Int32, int32_t) NONE(UInt32, uint32_t) NONE(Int64, int64_t)
NONE(UInt64, uint64_t) NONE(Boolean, _Bool) NONE(String, String)
/* What is of other kinds of units, by name: nobody may call it. */
#define ABSENT(NAME) API Status fmi3##NAME(void) { return STATUS_ERROR; }
ABSENT(ActivateModelPartition) ABSENT(CompletedIntegratorStep) ABSENT(EnterConfigurationMode)
ABSENT(EnterContinuousTimeMode) ABSENT(EnterEventMode) ABSENT(EvaluateDiscreteStates)
ABSENT(ExitConfigurationMode) ABSENT(GetAdjointDerivative) ABSENT(GetBinary) ABSENT(GetClock)
ABSENT(GetContinuousStateDerivatives) ABSENT(GetContinuousStates) ABSENT(GetDirectionalDerivative)
ABSENT(GetEventIndicators) ABSENT(GetIntervalDecimal) ABSENT(GetIntervalFraction)
ABSENT(GetNominalsOfContinuousStates) ABSENT(GetNumberOfContinuousStates)
ABSENT(GetNumberOfEventIndicators) ABSENT(GetNumberOfVariableDependencies)
ABSENT(GetOutputDerivatives) ABSENT(GetShiftDecimal) ABSENT(GetShiftFraction)
ABSENT(GetVariableDependencies) ABSENT(SetBinary) ABSENT(SetClock) ABSENT(SetContinuousStates)
ABSENT(SetIntervalDecimal) ABSENT(SetIntervalFraction) ABSENT(SetShiftDecimal)
ABSENT(SetShiftFraction) ABSENT(SetTime) ABSENT(UpdateDiscreteStates)
API Status fmi3DoStep(Instance unit, double t, double h, _Bool keep, _Bool *event, _Bool *end,
    _Bool *early, double *last)
{
    const Status status = unit_step(unit, t, h);
    UNUSED(keep);
    *event = *end = *early = 0;
    *last = t + h;
    return status;
}
"""
FMI2 = r"""
typedef int Status;
typedef void *Instance;
typedef const char *String;
typedef unsigned Reference;
typedef int Boolean;

API String fmi2GetTypesPlatform(void) { return "default"; }
API String fmi2GetVersion(void) { return "2.0"; }
API Status fmi2SetDebugLogging(Instance a, Boolean b, size_t c, const String d[])
{ UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); return STATUS_OK; }
API Instance fmi2Instantiate(String name, int kind, String token, String path, const void *mine,
    Boolean visible, Boolean logging)
{
    UNUSED(name); UNUSED(path); UNUSED(mine); UNUSED(visible); UNUSED(logging);
    return kind == 1 && token && !strcmp(token, "{@token@}") ? unit_new() : NULL;
}
API void fmi2FreeInstance(Instance unit) { free(unit); }
API Status fmi2GetFMUstate(Instance unit, void **state) { return state_get(unit, state); }
API Status fmi2SetFMUstate(Instance unit, void *state) { return state_set(unit, state); }
API Status fmi2FreeFMUstate(Instance unit, void **state) { return state_free(unit, state); }
API Status fmi2SerializedFMUstateSize(Instance unit, void *state, size_t *size)
{ UNUSED(unit); UNUSED(state); *size = sizeof(Unit); return STATUS_OK; }
API Status fmi2SerializeFMUstate(Instance unit, void *state, char bytes[], size_t size)
{ return state_write(unit, state, bytes, size); }
API Status fmi2DeSerializeFMUstate(Instance unit, const char bytes[], size_t size, void **state)
{ return state_read(unit, bytes, size, state); }
API Status fmi2SetupExperiment(Instance unit, Boolean a, double b, double start, Boolean c,
    double d)
{
    UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d);
    ((Unit *)unit)->value[0] = start;
    return STATUS_OK;
}
API Status fmi2EnterInitializationMode(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi2ExitInitializationMode(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi2Terminate(Instance unit) { UNUSED(unit); return STATUS_OK; }
API Status fmi2Reset(Instance instance)
{
    unit_begin(instance);
    return STATUS_OK;
}
API Status fmi2GetReal(Instance unit, const Reference *where, size_t n, double *values)
{ return unit_get(unit, where, n, values); }
API Status fmi2SetReal(Instance unit, const Reference *where, size_t n, const double *values)
{ return unit_set(unit, where, n, values); }
#define NONE(TYPE, C) \
    API Status fmi2Get##TYPE(Instance u, const Reference *r, size_t n, C *x) \
    { UNUSED(u); UNUSED(r); UNUSED(x); return n ? STATUS_ERROR : STATUS_OK; } \
    API Status fmi2Set##TYPE(Instance u, const Reference *r, size_t n, const C *x) \
    { UNUSED(u); UNUSED(r); UNUSED(x); return n ? STATUS_ERROR : STATUS_OK; }
NONE(Integer, int) NONE(Boolean, Boolean) NONE(String, String)
API Status fmi2SetRealInputDerivatives(Instance a, const Reference *b, size_t n, const int *c,
    const double *d)
{ UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); return n ? STATUS_ERROR : STATUS_OK; }
API Status fmi2GetRealOutputDerivatives(Instance a, const Reference *b, size_t n, const int *c,
    double *d)
{ UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); return n ? STATUS_ERROR : STATUS_OK; }
API Status fmi2GetDirectionalDerivative(Instance a, const Reference *b, size_t c,
    const Reference *d, size_t e, const double *f, double *g)
{
    UNUSED(a); UNUSED(b); UNUSED(c); UNUSED(d); UNUSED(e); UNUSED(f); UNUSED(g);
    return STATUS_ERROR;
}
API Status fmi2DoStep(Instance unit, double t, double h, Boolean keep)
{ UNUSED(keep); return unit_step(unit, t, h); }
API Status fmi2CancelStep(Instance unit) { UNUSED(unit); return STATUS_ERROR; }
#define ASK(TYPE, C) \
    API Status fmi2Get##TYPE##Status(Instance u, int kind, C *x) \
    { UNUSED(u); UNUSED(kind); UNUSED(x); return STATUS_DISCARD; }
ASK(, int) ASK(Real, double) ASK(Integer, int) ASK(Boolean, Boolean) ASK(String, String)
"""
