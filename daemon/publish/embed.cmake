# Writes interface descriptions as C strings: cmake -DOUTPUT=... -DMANAGER=... -DSERVICE=...
# -DBUS=... -P embed.cmake
function(embed name file)
  file(READ "${file}" text)
  string(REPLACE "\\" "\\\\" text "${text}")
  string(REPLACE "\"" "\\\"" text "${text}")
  string(REPLACE "\n" "\\n\"\n    \"" text "${text}")
  file(APPEND "${OUTPUT}" "const char ${name}[] =\n    \"${text}\";\n")
endfunction()

file(WRITE "${OUTPUT}" "// Made by embed.cmake.\n#include \"interface_text.h\"\n")
embed(interface_text_manager "${MANAGER}")
embed(interface_text_service "${SERVICE}")
embed(interface_text_bus "${BUS}")
