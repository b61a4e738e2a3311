// What a release of llama.cpp's Metal backend makes of a device: its own code, executed.
#ifndef CAPBENCH_SHIM_EMULATE_EXPLAIN_H_
#define CAPBENCH_SHIM_EMULATE_EXPLAIN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "shim/emulate/decoder_layer.h"
#include "shim/emulate/device_profile.h"
#include "shim/emulate/ggml.h"
#include "shim/emulate/model_layer.h"

namespace capbench::emulate {

// What ran, by content.
struct LibraryIdentity {
  std::string name;  // "libggml-metal.so"
  std::string sha256;
  std::string base_sha256;  // of libggml-base.dylib
  std::string shim;         // file name; empty without one
  std::string shim_sha256;
  std::string ggml;     // version and commit as the library gives them; empty if it does not
  std::string release;  // llama.cpp's, where its digest is known or the package around it names it
};

struct ExplainInput {
  std::string library;  // path of libggml-metal.so
  std::string shim;     // path of a dylib to insert; may be empty
  DeviceProfile guest;
  std::map<std::string, std::string> environment;  // of the process: CAPSHIM_SET, GGML_METAL_..., ...
  ModelLayer model;
  std::uint64_t prompt = 512;  // tokens of the batch that stands for a prompt
};

// A batch and a way to do attention: the questions asked of each operator.
struct Situation {
  std::string name;  // "pp512", "tg"
  bool flash_attention = false;
  LayerShape shape;
};

// Where an operator runs, in every situation in which the layer has it.
struct OperatorAnswer {
  std::string role;
  std::string op;
  std::string types;
  std::vector<std::optional<bool>> on_gpu;  // by situation; nothing where the layer does without it
};

// One question that the library asked the device, however often.
struct Question {
  std::string selector;
  std::string argument;
  std::string told;
  std::string device;  // differs from `told` only behind a shim
  std::uint64_t times = 0;
};

struct Explanation {
  LibraryIdentity library;
  DeviceProfile guest;
  std::string set;  // CAPSHIM_SET, if given
  std::string device;
  std::vector<std::string> log;     // stderr, line by line, of library and shim
  std::vector<Question> questions;  // of libggml-metal.so, in the order of the first time
  DerivedProperties properties;
  std::string model;
  std::string architecture;
  std::vector<std::string> not_covered;  // weights of the model that the layer built here does not use
  std::vector<Situation> situations;
  std::vector<OperatorAnswer> operators;
};

// Prompt and single token, without and with flash attention.
std::vector<Situation> situations_of(std::uint64_t prompt);

LibraryIdentity identify(const ExplainInput& input, const GgmlLibraries& libraries);

Result<Explanation> explain(const ExplainInput& input);

// What ggml does with its operators that are the same in every respect but the situation is one row.
std::vector<OperatorAnswer> ask_operators(Ggml& ggml, const std::vector<std::vector<LayerOperator>>& layers);

std::vector<Question> questions_of(Ggml& ggml, std::string_view library);

// At most 80 columns. One JSON object (shim/emulate/explain.schema.json).
std::string explain_text(const Explanation& explanation);
std::string explain_json(const Explanation& explanation);

}  // namespace capbench::emulate

#endif  // CAPBENCH_SHIM_EMULATE_EXPLAIN_H_
