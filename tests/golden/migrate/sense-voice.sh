#!/usr/bin/env bash
set -ex
export QNN_SDK_ROOT=/opt/qairt/2.40.0.251030

for t in 5 8 10; do
  qnn-onnx-converter --input_network model-$t-seconds.onnx --output_path ./model-$t-seconds-quantized \
    --out_node logits --input_list ./input_list.txt --use_native_input_files \
    --input_dtype x float32 --input_dtype prompt int32 --act_bitwidth 16 --bias_bitwidth 32 --input_layout x NTF
  mv model-$t-seconds-quantized model-$t-seconds-quantized.cpp

  python3 "${QNN_SDK_ROOT}/bin/x86_64-linux-clang/qnn-model-lib-generator" \
    -c model-$t-seconds-quantized.cpp -b model-$t-seconds-quantized.bin -o model_libs > /dev/null 2>&1

  for soc in SM8350 SA8295 SM8850; do
    python3 scripts/qnn/generate_config.py --soc $soc --graph-name model_${t}_seconds_quantized \
      --output-dir ./my-config --qnn-sdk-root $QNN_SDK_ROOT
    $QNN_SDK_ROOT/bin/x86_64-linux-clang/qnn-context-binary-generator \
      --backend $QNN_SDK_ROOT/lib/x86_64-linux-clang/libQnnHtp.so \
      --model ./model_libs/x86_64-linux-clang/libmodel-$t-seconds-quantized.so \
      --output_dir ./binary --binary_file model --config_file ./my-config/htp_backend_extensions.json
  done
done
