# add_python_test(NAME): test_NAME.py beside the caller is one CTest test, labelled with the name of
# its folder.
function(add_python_test name)
  get_filename_component(label ${CMAKE_CURRENT_SOURCE_DIR} NAME)
  add_test(NAME ${label}/${name}
           COMMAND Python3::Interpreter ${CMAKE_SOURCE_DIR}/tests/lib/apart.py
                   ${CMAKE_CURRENT_SOURCE_DIR}/test_${name}.py)
  set(programs
      DISCOVERYD=$<TARGET_FILE:dotnet-discoveryd>
      DISCOVERYCTL=$<TARGET_FILE:dotnet-discoveryctl>)
  set_tests_properties(${label}/${name} PROPERTIES
    LABELS ${label}
    TIMEOUT 180
    SKIP_RETURN_CODE 77
    ENVIRONMENT "${programs}")
endfunction()
