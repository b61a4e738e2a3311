// What a script on a target prints, told apart from whatever else the tool prints: log lines before it, an extra
// newline after it, both streams in one, carriage returns. Pure, and safe with any bytes.
#ifndef CAPBENCH_HARNESS_TARGET_FRAME_H_
#define CAPBENCH_HARNESS_TARGET_FRAME_H_

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace capbench::target {

struct Framed {
  int exit_status = 0;  // of the script
  std::string text;     // what it printed between the marks
};

// The script with its marks. The marks do not occur in the script's own text, so a tool that logs the command is
// not mistaken for one that ran it. `nonce`: letters and digits.
std::string framed_script(std::string_view script, std::string_view nonce);

// Absent: the script did not run to its end, or its output did not arrive whole.
std::optional<Framed> read_frame(std::string_view output, std::string_view nonce);

// Shell functions and commands that print files in a form that survives any tool: put before `send_file NAME` commands.
std::string_view send_file_function();

// The files in the text that `send_file` printed, by name. Absent: a file is incomplete or not as announced.
std::optional<std::map<std::string, std::string>> read_files(std::string_view text);

// The last line with anything but spaces, without them; for messages.
std::string last_line(std::string_view text);

// 32 random hexadecimal digits.
std::string make_nonce();

}  // namespace capbench::target

#endif  // CAPBENCH_HARNESS_TARGET_FRAME_H_
