// Preloaded into llama-perplexity it stands for kernels that compute the wrong thing: it changes the logits that the
// program fetches. $CAPBENCH_TEST_CORRUPT says how:
//
//   constant        every logit is 1
//   nan             the first logit of every position is not a number
//   share:N         one logit in N is 0
//   noise:P         every logit is off by up to P percent of it
//   position:K      the logits of the K-th judged position are those of the one before
//
// Test only.
#include <dlfcn.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string_view>

namespace {

// Positions that llama-perplexity judges of a chunk of 128 tokens.
constexpr std::size_t kRows = 63;

template <class F>
F next(const char* name) {
  return reinterpret_cast<F>(dlsym(RTLD_NEXT, name));
}

std::size_t vocabulary(void* context) {
  const auto model = next<void* (*)(void*)>("llama_get_model")(context);
  const auto vocab = next<void* (*)(void*)>("llama_model_get_vocab")(model);
  return static_cast<std::size_t>(next<std::int32_t (*)(void*)>("llama_vocab_n_tokens")(vocab));
}

std::uint32_t draw(std::uint32_t& state) {
  state = state * 1664525U + 1013904223U;
  return state >> 8U;
}

void corrupt(std::string_view how, float* logits, std::size_t width) {
  const std::size_t colon = how.find(':');
  const std::string_view kind = how.substr(0, colon);
  const unsigned long number = colon == std::string_view::npos ? 1 : std::strtoul(how.data() + colon + 1, nullptr, 10);
  std::uint32_t state = 1;
  for (std::size_t row = 0; row < kRows; ++row) {
    float* const line = logits + row * width;
    if (kind == "nan") line[0] = std::numeric_limits<float>::quiet_NaN();
    for (std::size_t i = 0; i < width; ++i) {
      if (kind == "constant") line[i] = 1.0F;
      if (kind == "share" && draw(state) % number == 0) line[i] = 0.0F;
      if (kind == "noise") {
        const float unit = static_cast<float>(draw(state) % 2001) / 1000.0F - 1.0F;
        line[i] *= 1.0F + unit * static_cast<float>(number) / 100.0F;
      }
      if (kind == "position" && row == number) line[i] = *(line + i - width);
    }
  }
}

}  // namespace

extern "C" float* llama_get_logits_ith(void* context, std::int32_t i) {
  float* const logits = next<float* (*)(void*, std::int32_t)>("llama_get_logits_ith")(context, i);
  const char* const how = std::getenv("CAPBENCH_TEST_CORRUPT");
  if (logits != nullptr && how != nullptr) corrupt(how, logits, vocabulary(context));
  return logits;
}
