"""qnn-op-package-generator: the skeleton of a package, which make compiles for real."""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

from tests.standin.tools import op_definition
from tests.standin.tools.log import RefusedError, error, info
from tests.standin.tools.op_definition import Package

TOOL = "qnn-op-package-generator"
MAKEFILES = "share/QNN/OpPackageGenerator/makefiles"

HEAD = "//{line}\n// Auto Generated Code for {package}\n//{line}\n"
HTP_INTERFACE = """
#include "HTP/core/op_register_ext.h"

INIT_PACKAGE_OP_DEF()

{declared}
static const char* sg_opNames[] = {{{names}}};

extern "C" QNN_API Qnn_ErrorHandle_t {package}InterfaceProvider(const char*** names) {{
  *names = sg_opNames;
  return {registered};
}}
"""
HTP_OPERATOR = """
#include "HTP/core/op_register_ext.h"

BEGIN_PKG_OP_DEFINITION(PKG_{op});

static int {lower}Impl(float* out, const float* in, int size) {{
  // TODO: what {op} computes
  (void)out; (void)in; (void)size;
  return 0;
}}

DEF_PACKAGE_OP({lower}Impl, "{op}")

END_PKG_OP_DEFINITION(PKG_{op});
"""
CPU_INTERFACE = """
#include "CPU/QnnCpuOpPackage.h"

{declared}
static const char* sg_opNames[] = {{{names}}};

extern "C" QNN_API Qnn_ErrorHandle_t {package}InterfaceProvider(const char*** names) {{
  *names = sg_opNames;
  return {registered};
}}
"""
CPU_OPERATOR = """
#include "CPU/QnnCpuOpPackage.h"

static int {lower}Execute(float* out, const float* in, int size) {{
  // TODO: what {op} computes
  (void)out; (void)in; (void)size;
  return 0;
}}

REGISTER_OP(PKG_{op}, {lower}Execute, "{op}")
"""
CONVERTER_OPERATOR = """
extern "C" QNN_API Qnn_ErrorHandle_t {op}ShapeInference(Qnn_OpConfig_t* op) {{
  // TODO: the shapes of what {op} makes
  (void)op;
  return 0;
}}
"""


def main(argv: list[str], root: Path) -> int:
    given = _parser().parse_args(argv)
    try:
        for path in given.config_path:
            package = op_definition.read(Path(path))
            _generate(package, Path(given.output_path), root, force=given.force_generation)
            if given.converter_op_package:
                _converter(package, Path(given.output_path), root)
    except RefusedError as refused:
        error(str(refused))
        sys.stdout.flush()
        return 1
    info("Code generation finished for all packages")
    return 0


def _parser() -> argparse.ArgumentParser:
    p = argparse.ArgumentParser(prog=TOOL)
    p.add_argument("-p", "--config_path", action="append", required=True)
    p.add_argument("-o", "--output_path", default=".")
    p.add_argument("-f", "--force_generation", action="store_true")
    p.add_argument("-cop", "--converter_op_package", action="store_true")
    p.add_argument("--gen_cmakelists", action="store_true")
    p.add_argument("--debug", action="store_true")
    return p


def _generate(package: Package, out: Path, root: Path, *, force: bool) -> None:
    folder = out / package.name
    if folder.exists() and not force:
        raise RefusedError(f"Package {folder} exists already; use --force_generation")
    backends = [backend for backend in package.backends if backend in op_definition.GENERATED]
    if not backends:
        said = ", ".join(package.backends) or "none"
        raise RefusedError(
            f"No package can be generated for the backends of {package.path}: {said}"
        )
    backend = backends[0]
    interface, operator = (
        (HTP_INTERFACE, HTP_OPERATOR) if backend == "HTP" else (CPU_INTERFACE, CPU_OPERATOR)
    )
    for part in ("config", "include", "makefiles", "src/ops"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    shutil.copy(package.path, folder / "config")
    shutil.copy(root / MAKEFILES / f"Makefile.{backend}", folder / "Makefile")
    head = HEAD.format(line="=" * 78, package=package.name)
    text = interface.format(
        package=package.name,
        names=", ".join(f'"{op}"' for op in package.operators),
        declared="\n".join(f"DECLARE_PKG_OPS_OPTS_LIST(PKG_{op})" for op in package.operators),
        registered=" + ".join(f"PKG_{op}_register()" for op in package.operators),
    )
    (folder / "src" / f"{package.name}Interface.cpp").write_text(head + text, encoding="utf-8")
    for op in package.operators:
        text = operator.format(op=op, lower=op.lower())
        (folder / "src/ops" / f"{op}.cpp").write_text(head + text, encoding="utf-8")
    info(f"Code generation is complete for package: {package.name} at {folder.absolute()}")


def _converter(package: Package, out: Path, root: Path) -> None:
    """What tells the converters the shapes of what these operators make."""
    folder = out / f"{package.name}_Converter_Op_Package"
    (folder / "ConverterOpPackage").mkdir(parents=True, exist_ok=True)
    shutil.copy(root / MAKEFILES / "Makefile.converter", folder / "Makefile")
    text = '#include "QnnOpDef.h"\n#include "ConverterOpPackage.h"\n'
    text += "".join(CONVERTER_OPERATOR.format(op=op) for op in package.operators)
    path = folder / "ConverterOpPackage" / "ConverterOpPackage.cpp"
    path.write_text(text, encoding="utf-8")
