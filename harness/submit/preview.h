// What would leave this machine, for its owner to look at before it does. Pure, thread-safe.
#ifndef CAPBENCH_HARNESS_SUBMIT_PREVIEW_H_
#define CAPBENCH_HARNESS_SUBMIT_PREVIEW_H_

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "schema/bundle/bundle.h"

namespace capbench::submit {

struct Preview {
  struct Member {
    std::string path;
    std::uint64_t size = 0;  // bytes, unpacked
  };
  struct Trials {
    std::string suite;
    std::string arm;
    std::string status;
    std::uint64_t count = 0;
  };
  std::string id;
  std::uint64_t archive_bytes = 0;
  bool is_signed = false;
  std::vector<Member> members;            // as the manifest lists them
  std::vector<Trials> trials;             // by suite, arm, status
  std::vector<std::string> environments;  // every fact, JSON
  std::vector<bundle::Replaced> replaced;
  std::uint64_t withheld = 0;     // digests of raw output whose bytes stay here
  std::vector<std::string> left;  // known names that stay (see redact_bundle.h)
};

// `bundle` is what was sealed.
Result<Preview> preview_of(const bundle::Bundle& bundle, const bundle::Sealed& sealed);

// For people, without control characters. `every_member`: each by its name, else how many of each kind and how large.
std::string preview_text(const Preview& preview, bool every_member);
// {"bundle","bytes","signed","members":[{"path","size"}],"trials":[{"suite","arm","status","count"}],
// "environments":[{...}],"replaced":[{"member","kind","count"}],"withheld","left":[...]}
std::string preview_json(const Preview& preview);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_PREVIEW_H_
