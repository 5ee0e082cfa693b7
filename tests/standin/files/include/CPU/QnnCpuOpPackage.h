#pragma once
// What the source of an operator for the CPU backend is compiled against.

#include "../QnnOpDef.h"
#include "../QnnOpPackage.h"

#define DECLARE_PKG_OPS_OPTS_LIST(PKG) extern "C" int PKG##_register(void);
#define REGISTER_OP(PKG, FUNCTION, NAME)                        \
  __attribute__((used)) static const QnnStandinOp PKG##_entry = { \
      NAME, reinterpret_cast<const void*>(FUNCTION)};           \
  extern "C" int PKG##_register(void) { return 0; }
