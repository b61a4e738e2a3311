// SHA-256, the name of everything in this project (FIPS 180-4, computed by OpenSSL's EVP).
#ifndef CAPBENCH_BASE_DIGEST_H_
#define CAPBENCH_BASE_DIGEST_H_

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench {

// Feeds bytes piece by piece. One thread at a time.
class Sha256 {
 public:
  Sha256();
  Sha256(Sha256&&) noexcept;
  Sha256& operator=(Sha256&&) noexcept;
  ~Sha256();

  void update(std::string_view bytes);
  // 64 lowercase hexadecimal digits. The object is spent afterwards.
  std::string finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 64 lowercase hexadecimal digits.
bool is_sha256(std::string_view text);
std::string sha256(std::string_view bytes);
Result<std::string> sha256_file(const std::filesystem::path& path);

}  // namespace capbench

#endif  // CAPBENCH_BASE_DIGEST_H_
