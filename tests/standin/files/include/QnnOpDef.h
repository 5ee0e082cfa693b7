#pragma once
// Names of what the wrapper passes through.

typedef void* Qnn_BackendHandle_t;

#define QNN_OP_PACKAGE_NAME_QTI_AISW "qti.aisw"
