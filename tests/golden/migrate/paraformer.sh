#!/usr/bin/env bash
# t and soc come from the environment

convert() {
  local m=$1
  shift
  qnn-onnx-converter --input_network ./$m-$t-seconds.onnx --output_path ./quant/$m.cpp \
    --input_list ./$m-input-list.txt --use_native_input_files "$@" --act_bitwidth 16 --bias_bitwidth 32
  $QNN_SDK_ROOT/bin/x86_64-linux-clang/qnn-model-lib-generator -c quant/$m.cpp -b quant/$m.bin -o libs
  python3 scripts/qnn/generate_config.py --soc $soc --graph-name $m --output-dir c --qnn-sdk-root $QNN_SDK_ROOT
  qnn-context-binary-generator --backend libQnnHtp.so --model libs/x86_64-linux-clang/lib$m.so \
    --output_dir binary --binary_file $m --config_file c/htp_backend_extensions.json
}

convert decoder --input_dtype encoder_out float32 --input_dtype acoustic_embedding float32 --input_dtype mask int32
convert predictor --input_dtype encoder_out float32
if [ "$with_encoder" = 1 ]; then
  # it throws an error without the layout
  convert encoder --out_node encoder_out --input_dtype x float32 --input_layout x NTF
fi
