# two graphs in one binary, settings written by the script itself
sdk=/opt/qcom/qairt/2.45.0
models=(prompt token)
for m in "${models[@]}"; do
  qnn-onnx-converter -i "$m.onnx" -o "out/$m.cpp" --input_dim x "1,${n:-128}" --preserve_io layout x \
    --quantization_overrides "$m.json" --act_bitwidth=16 --weights_bitwidth 4 --bias_bitwidth 32 --use_per_channel_quantization
  "$sdk/bin/qnn-model-lib-generator" -c "out/$m.cpp" -b "out/$m.bin" -t x86_64-linux-clang
done
read -r chip arch <<< "69 v79"
cat > around.json <<'END'
{"backend_extensions": {"shared_library_path": "x.so", "config_file_path": "htp.json"},
 "context_configs": {"context_priority": "high"}}
END
cat > htp.json <<END
{
  "graphs": [{"graph_names": ["prompt", "token"], "O": 2, "vtcm_mb": 4, "fp16_relaxed_precision": 1}],
  "devices": [{"soc_model": $chip, "dsp_arch": "$arch", "cores": [{"perf_profile": "burst", "speed": 9}]}],
  "context": {"weight_sharing_enabled": true}
}
END
qnn-context-binary-generator --backend libQnnHtp.so --model out/libprompt.so,out/libtoken.so \
  --binary_file both --config_file around.json
