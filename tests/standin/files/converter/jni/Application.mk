APP_ABI := $(QNN_ANDROID_APP_ABIS)
APP_STL := c++_shared
APP_PLATFORM := android-24
