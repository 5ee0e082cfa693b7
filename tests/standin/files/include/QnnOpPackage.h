#pragma once
// What all packages of operators have in common.

typedef unsigned long Qnn_ErrorHandle_t;
typedef struct {
  const char* name;
  const void* function;
} QnnStandinOp;
