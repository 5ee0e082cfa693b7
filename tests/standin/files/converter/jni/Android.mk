LOCAL_PATH := $(call my-dir)
include $(CLEAR_VARS)
LOCAL_MODULE := $(subst lib,,$(subst .so,,$(QNN_MODEL_LIB_NAME)))
LOCAL_SRC_FILES := $(wildcard $(LOCAL_PATH)/*.cpp)
LOCAL_C_INCLUDES := $(LOCAL_PATH) $(QNN_SDK_ROOT)/include/QNN
include $(BUILD_SHARED_LIBRARY)
