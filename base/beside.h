// Work on a thread of its own, beside the caller's. What it throws, short memory above all, becomes an error: nothing
// may leave a thread, or the program ends.
#ifndef CAPBENCH_BASE_BESIDE_H_
#define CAPBENCH_BASE_BESIDE_H_

#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/result.h"

namespace capbench {

class Beside {
 public:
  // Begins at once. `work` gives a Status; `what` names it in the error.
  template <typename Work>
  Beside(std::string what, Work work)
      : thread_([this, what = std::move(what), work = std::move(work)]() mutable {
          try {
            status_ = work();
          } catch (const std::exception& thrown) {
            status_ = Error{ErrorKind::kMachine, std::move(what), thrown.what(), "try again, with more memory"};
          }
        }) {}
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  // Waits for the end of the work.
  ~Beside() = default;

  // Waits for the end of the work and says how it went. Once.
  Status finish() {
    thread_.join();
    return std::move(status_);
  }

 private:
  Status status_;
  std::jthread thread_;  // the last to come and the first to go: it writes to what is above it
};

}  // namespace capbench

#endif  // CAPBENCH_BASE_BESIDE_H_
