#pragma once
// What the shapes of operators' outputs are told through.

#include "QnnOpPackage.h"

typedef struct {
  unsigned numOfInputs;
  unsigned numOfOutputs;
  unsigned** inputDimensions;
  unsigned** outputDimensions;
} Qnn_OpConfig_t;
