# what cannot be carried over is told
find . -name '*.onnx' | while read -r f; do
  qnn-onnx-converter --input_network "$f" --output_path "$(basename $f .onnx).cpp" --frobnicate 3 --act_bitwith 8 \
    --algorithms warp --debug --input_dtype x complex64 --out_node y_$f
done
qairt-converter --input_network a.onnx
qnn-net-run --help
rm -rf / # nothing of a script is run
qnn-context-binary-generator --backend libQnnGpu.so --dlc_path a.dlc --config_file nowhere.json
