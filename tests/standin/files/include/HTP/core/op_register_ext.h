#pragma once
// What the source of an operator for the HTP is compiled against.

#include "../../QnnOpDef.h"
#include "../../QnnOpPackage.h"

#define INIT_PACKAGE_OP_DEF() \
  extern "C" QNN_API const void* op_pkg_init(void) { return 0; }
#define DECLARE_PKG_OPS_OPTS_LIST(PKG) extern "C" int PKG##_register(void);

// One operator for each definition; the stand-in's qnn-net-run finds its function by the package.
#define BEGIN_PKG_OP_DEFINITION(PKG) namespace PKG##_definition {
#define DEF_PACKAGE_OP(FUNCTION, NAME)                          \
  __attribute__((used)) static const QnnStandinOp op_entry = { \
      NAME, reinterpret_cast<const void*>(FUNCTION)};
#define END_PKG_OP_DEFINITION(PKG)                                                               \
  }                                                                                              \
  extern "C" QNN_API const void* PKG##_function(void) { return PKG##_definition::op_entry.function; } \
  extern "C" int PKG##_register(void) { return 0; }
