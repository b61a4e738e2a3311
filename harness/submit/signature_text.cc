#include <array>
#include <cstdint>
#include <optional>

#include "harness/submit/signature.h"

// The form of a signature: PROTOCOL.sshsig of OpenSSH.
namespace capbench::submit {
namespace {

constexpr std::string_view kBegin = "-----BEGIN SSH SIGNATURE-----";
constexpr std::string_view kEnd = "-----END SSH SIGNATURE-----";
constexpr std::string_view kMagic = "SSHSIG";
constexpr std::string_view kNamespace = "capbench-bundle";

Error bad(std::string cause) {
  return {ErrorKind::kFinding, "signature", std::move(cause),
          "sign again: `capbench submit --sign KEY`, which asks ssh-keygen for it"};
}

int base64_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

// The lines between the marks, joined. Nothing if there is anything but base64 in them.
std::optional<std::string> armoured(std::string_view text) {
  if (!text.starts_with(kBegin)) return std::nullopt;
  text.remove_prefix(kBegin.size());
  while (text.ends_with('\n') || text.ends_with('\r')) text.remove_suffix(1);
  if (!text.ends_with(kEnd)) return std::nullopt;
  text.remove_suffix(kEnd.size());
  if (!text.starts_with('\n') && !text.starts_with("\r\n")) return std::nullopt;
  std::string joined;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    if (base64_value(c) < 0 && c != '=') return std::nullopt;
    joined += c;
  }
  return joined;
}

// Padding belongs at the end, and the bits that it leaves over are zero.
std::optional<std::string> decoded(std::string_view text) {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const std::string_view group = text.substr(at, 4);
    const bool last = at + 4 == text.size();
    const std::size_t digits = last && group.ends_with("==") ? 2 : last && group.ends_with('=') ? 3 : 4;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int value = i < digits ? base64_value(group[i]) : 0;
      if (value < 0) return std::nullopt;
      bits = bits << 6U | static_cast<std::uint32_t>(value);
    }
    if ((digits == 2 && (bits & 0xFFFFU) != 0) || (digits == 3 && (bits & 0xFFU) != 0)) return std::nullopt;
    for (std::size_t i = 0; i + 1 < digits; ++i) bytes += static_cast<char>(bits >> (16U - 8U * i) & 0xFFU);
  }
  return bytes;
}

// Takes four bytes, most significant first.
std::optional<std::uint32_t> take_number(std::string_view& bytes) {
  if (bytes.size() < 4) return std::nullopt;
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < 4; ++i) value = value << 8U | static_cast<unsigned char>(bytes[i]);
  bytes.remove_prefix(4);
  return value;
}

// Takes a length and so many bytes.
std::optional<std::string_view> take_text(std::string_view& bytes) {
  const auto length = take_number(bytes);
  if (!length || *length > bytes.size()) return std::nullopt;
  const std::string_view text = bytes.substr(0, *length);
  bytes.remove_prefix(*length);
  return text;
}

Status check_blob(std::string_view bytes) {
  if (!bytes.starts_with(kMagic)) return bad("the bytes in it are no SSH signature");
  bytes.remove_prefix(kMagic.size());
  const auto version = take_number(bytes);
  if (!version || *version != 1) return bad("a version of the format that is not 1");
  const auto key = take_text(bytes);
  const auto name = take_text(bytes);
  const auto reserved = take_text(bytes);
  const auto hash = take_text(bytes);
  const auto signature = take_text(bytes);
  if (!key || !name || !reserved || !hash || !signature) return bad("it is cut");
  if (!bytes.empty()) return bad("bytes behind its end");
  if (key->empty() || signature->empty()) return bad("it holds no key or no signature");
  if (*name != kNamespace) return bad("made for another purpose (its namespace is not capbench-bundle)");
  if (*hash != "sha256" && *hash != "sha512") return bad("a digest that is neither sha256 nor sha512");
  return {};
}

}  // namespace

Status check_signature_text(std::string_view signature) {
  if (signature.size() > kMostSignatureBytes) {
    return bad("longer than " + std::to_string(kMostSignatureBytes) + " bytes");
  }
  const auto text = armoured(signature);
  if (!text) return bad("not the armoured text of one SSH signature");
  const auto bytes = decoded(*text);
  if (!bytes) return bad("not base64");
  return check_blob(*bytes);
}

}  // namespace capbench::submit
