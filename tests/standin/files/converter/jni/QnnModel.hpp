#pragma once
// The wrapper that a converted model's source is compiled against.

#define QNN_API __attribute__((visibility("default")))
#define VALIDATE(value)                              \
  do {                                               \
    ModelError_t error = value;                      \
    if (error != MODEL_NO_ERROR) return error;       \
  } while (0)

namespace qnn_wrapper_api {

enum ModelError_t { MODEL_NO_ERROR = 0, MODEL_GRAPH_ERROR = 3 };

class QnnModel {
 public:
  ModelError_t initialize(Qnn_BackendHandle_t backend, const char* name, int validate) {
    backend_ = backend;
    name_ = name;
    validate_ = validate;
    return MODEL_NO_ERROR;
  }
  ModelError_t addNode(const char* name, const char* package, const char* type) {
    if (name == 0 || package == 0 || type == 0) return MODEL_GRAPH_ERROR;
    ++nodes_;
    return MODEL_NO_ERROR;
  }
  ModelError_t compose(const char* name, const char* graph) {
    if (name == 0) return MODEL_GRAPH_ERROR;
    graph_ = graph;
    return MODEL_NO_ERROR;
  }
  ModelError_t free() {
    graph_ = 0;
    return MODEL_NO_ERROR;
  }

 private:
  Qnn_BackendHandle_t backend_;
  const char* name_;
  const char* graph_;
  int validate_;
  int nodes_;
};

}  // namespace qnn_wrapper_api
