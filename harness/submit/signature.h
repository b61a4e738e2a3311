// OpenSSH signatures (`ssh-keygen -Y`), made with the keys that people already have: a private key file, or the public
// half of one that an agent or a security key holds.
//
// Signatures to check come from strangers. Their text is read here first (size, armour, base64, every length in it, the
// namespace, the digest) and reaches the program only when it is one signature and nothing else. The files that the
// program needs lie in a folder of this user's that is removed with the call. Safe to call from several threads.
#ifndef CAPBENCH_HARNESS_SUBMIT_SIGNATURE_H_
#define CAPBENCH_HARNESS_SUBMIT_SIGNATURE_H_

#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"

namespace capbench::submit {

// No key that OpenSSH makes has a signature as long as this. In bytes of text.
inline constexpr std::size_t kMostSignatureBytes = 16U << 10U;
// What is signed: a bundle's manifest, or the words of a withdrawal. In bytes.
inline constexpr std::size_t kMostSignedBytes = 16U << 20U;

struct Signer {
  std::string fingerprint;  // "SHA256:" and 43 characters, as `ssh-keygen -l` prints it
  std::string key_type;     // "ED25519", "RSA", "ECDSA", "ED25519-SK", ...

  bool operator==(const Signer&) const = default;
};

struct Signed {
  std::string signature;  // armoured text
  Signer signer;
};

// Whether ssh-keygen may ask its user something: a passphrase, a touch on a security key.
enum class Asking {
  kNever,       // it has no terminal: a key that needs an answer is an error at once
  kOnTerminal,  // on this process's terminal, for up to five minutes
};

// Signs `message` under the namespace of bundles. `key` is what `ssh-keygen -Y sign -f` takes. Errors: no such key, a
// passphrase that nobody can be asked for, a public key whose private half no agent holds (kUsage); no ssh-keygen
// (kMachine). The signature has been checked.
Result<Signed> sign(std::string_view message, const std::filesystem::path& key, Asking asking);

// Who signed exactly `message` under the namespace of bundles. That the key is genuine is all it says: whose key it is,
// verify_signature() asks. Errors: not a signature, another namespace, not over these bytes (kFinding); no ssh-keygen
// (kMachine).
Result<Signer> check_signature(std::string_view message, std::string_view signature);

struct KnownSigner {
  Signer signer;
  std::string identity;  // "jo@example.org": the name that the file has for the key
};

// The same for signers that a file in the format of ALLOWED SIGNERS (ssh-keygen(1)) knows. With an empty `identity`
// whoever of them it is; a name otherwise. Errors as above; kFinding too for a key that the file does not have, or not
// under that name, not for this namespace or not any more.
Result<KnownSigner> verify_signature(std::string_view message, std::string_view signature,
                                     const std::filesystem::path& allowed_signers, std::string_view identity = {});

// The words that a bundle's signer signs to withdraw it.
std::string withdrawal_text(std::string_view bundle_id);

// Pure: what is wrong with a signature's text, as an error of kind kFinding; nothing is asked of its key.
Status check_signature_text(std::string_view signature);

}  // namespace capbench::submit

#endif  // CAPBENCH_HARNESS_SUBMIT_SIGNATURE_H_
