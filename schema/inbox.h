// What a server has acknowledged before it was looked at: kept in the store, so that it survives the server. A bundle
// leaves the inbox in the transaction that takes it in (see Store::begin_batch()); one that is not taken in stays as a
// row that says why, without its bytes.
#ifndef CAPBENCH_SCHEMA_INBOX_H_
#define CAPBENCH_SCHEMA_INBOX_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "schema/store.h"

namespace capbench::schema {

enum class InboxState : std::uint8_t { kPending, kRefused, kWithdrawn };

struct InboxEntry {
  std::string id;  // of the bundle
  InboxState state = InboxState::kPending;
  std::string received_at;     // UTC
  std::string receipt_sha256;  // of the secret that may withdraw it; empty: none
  std::string outcome;         // JSON object; of one that was not taken: why
  std::uint64_t size = 0;      // bytes of the file
};

struct InboxCounts {
  std::uint64_t pending = 0;
  std::uint64_t bytes = 0;  // of the pending ones
};

// Works on a store that it does not own and that must outlive it; as thread-safe as that one. Each write is whole or
// not at all.
class Inbox {
 public:
  explicit Inbox(Store& store) : store_(store) {}

  // False: there is one of that id that is pending or withdrawn, or the store has taken it in already; nothing changed.
  // One that was refused is given another chance.
  Result<bool> put(std::string_view id, std::string_view receipt_sha256, std::string_view archive);
  Result<std::optional<InboxEntry>> find(std::string_view id);
  // The bytes of a pending one.
  Result<std::optional<std::string>> archive(std::string_view id);
  // Those that came so long ago and are still pending, the oldest first.
  Result<std::vector<InboxEntry>> pending(std::size_t most, std::chrono::seconds age = std::chrono::seconds(0));
  Result<InboxCounts> counts();

  // Each changes a pending one only; false: it is not pending (any more).
  Result<bool> take_out(std::string_view id);  // it was taken in
  // `outcome`: JSON object. Of the refused ones only the newest kMostRefused are remembered.
  Result<bool> refuse(std::string_view id, std::string_view outcome);
  // It is not taken again.
  Result<bool> withdraw(std::string_view id, std::string_view outcome);

  static constexpr std::int64_t kMostRefused = 10'000;

 private:
  Store& store_;
};

}  // namespace capbench::schema

#endif  // CAPBENCH_SCHEMA_INBOX_H_
