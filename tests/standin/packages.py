"""An operator of one's own as sources: its definition and its code."""

from __future__ import annotations

INTERFACE = "MyAddOpPackageInterfaceProvider"
DEFINITION = """\
<?xml version="1.0" encoding="UTF-8"?>
<OpDefCollection PackageName="MyAddOpPackage" Domain="example" Version="1.0">
  <OpDefList>
    <OpDef>
      <Name>MyAdd</Name>
      <Input>
        <Name>a</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype>
        <Shape><Rank>1D</Rank></Shape>
      </Input>
      <Input>
        <Name>b</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype>
        <Shape><Rank>1D</Rank></Shape>
      </Input>
      <Output>
        <Name>sum</Name><Mandatory>true</Mandatory><Datatype>BACKEND_SPECIFIC</Datatype>
        <Shape><Rank>1D</Rank></Shape>
      </Output>
      <SupportedBackend>HTP</SupportedBackend>
    </OpDef>
  </OpDefList>
  <SupplementalOpDefList Backend="HTP">
    <SupplementalOpDef>
      <Name>MyAdd</Name>
      <Input><Name>a</Name><Datatype>QNN_DATATYPE_FLOAT_32</Datatype></Input>
      <Output><Name>sum</Name><Datatype>QNN_DATATYPE_FLOAT_32</Datatype></Output>
    </SupplementalOpDef>
  </SupplementalOpDefList>
</OpDefCollection>
"""
CPU_DEFINITION = DEFINITION.replace("HTP", "CPU")
CPU_SOURCE = """\
#include "CPU/QnnCpuOpPackage.h"

static int add(float* sum, const float* a, const float* b, int size) {
  for (int at = 0; at < size; ++at) sum[at] = a[at] + b[at];
  return 0;
}

REGISTER_OP(PKG_MyAdd, add, "MyAdd")
"""
SHAPES = """\
#include "ConverterOpPackage.h"

extern "C" QNN_API Qnn_ErrorHandle_t MyAddShapeInference(Qnn_OpConfig_t* op) {
  op->outputDimensions[0][0] = op->inputDimensions[0][0];
  return 0;
}
"""
SOURCE = """\
#include "HTP/core/op_register_ext.h"

BEGIN_PKG_OP_DEFINITION(PKG_MyAdd);

static int add(float* sum, const float* a, const float* b, int size) {
  for (int at = 0; at < size; ++at) sum[at] = a[at] + b[at];
  return 0;
}

DEF_PACKAGE_OP(add, "MyAdd")

END_PKG_OP_DEFINITION(PKG_MyAdd);
"""
