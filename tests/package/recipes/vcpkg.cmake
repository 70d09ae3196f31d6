# Runs a portfile as vcpkg would, with the functions of vcpkg's that it calls:
#   cmake -DPORTFILE=... -DBUILT=... -DPACKAGES=... -P vcpkg.cmake
# BUILT is a build that was configured with the options of the portfile; it is installed in place of a new one. vcpkg itself
# is not part of this: the fix-ups are its documented effects.
cmake_minimum_required(VERSION 3.25)
set(PORT coracle)
set(CURRENT_PACKAGES_DIR "${PACKAGES}")

# All features are asked for.
function(vcpkg_check_features)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "OUT_FEATURE_OPTIONS" "FEATURES")
  set(options)
  while(arg_FEATURES)
    list(POP_FRONT arg_FEATURES feature option)
    file(READ "${CMAKE_CURRENT_LIST_DIR}/vcpkg.json" manifest)
    string(JSON described GET "${manifest}" features ${feature} description)
    list(APPEND options -D${option}=ON)
  endwhile()
  set(${arg_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

function(vcpkg_cmake_configure)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "SOURCE_PATH" "OPTIONS")
  if(arg_UNPARSED_ARGUMENTS OR NOT EXISTS "${arg_SOURCE_PATH}/CMakeLists.txt")
    message(FATAL_ERROR "not a source folder: ${arg_SOURCE_PATH} ${arg_UNPARSED_ARGUMENTS}")
  endif()
  foreach(option IN LISTS arg_OPTIONS)
    if(NOT option MATCHES "^-D([A-Za-z_]+)=(.*)$")
      message(FATAL_ERROR "not an option: ${option}")
    endif()
    set(value "${CMAKE_MATCH_2}")
    file(STRINGS "${BUILT}/CMakeCache.txt" cached REGEX "^${CMAKE_MATCH_1}:BOOL=")
    if(NOT cached MATCHES "=${value}$")
      message(FATAL_ERROR "coracle has no such option, or the build another value: ${option}, ${cached}")
    endif()
  endforeach()
endfunction()

function(vcpkg_cmake_install)
  foreach(prefix IN ITEMS "${CURRENT_PACKAGES_DIR}" "${CURRENT_PACKAGES_DIR}/debug")
    execute_process(COMMAND "${CMAKE_COMMAND}" --install "${BUILT}" --prefix "${prefix}"
                    OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
endfunction()

# Moves the package's files to share/, one folder nearer to the prefix.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "PACKAGE_NAME;CONFIG_PATH" "")
  set(there "${CURRENT_PACKAGES_DIR}/share/${arg_PACKAGE_NAME}")
  file(GLOB files "${CURRENT_PACKAGES_DIR}/${arg_CONFIG_PATH}/*")
  if(NOT files)
    message(FATAL_ERROR "nothing in ${arg_CONFIG_PATH}")
  endif()
  file(INSTALL ${files} DESTINATION "${there}")
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/lib/cmake" "${CURRENT_PACKAGES_DIR}/debug/lib/cmake")
  file(GLOB files "${there}/*.cmake")
  foreach(file IN LISTS files)
    file(READ "${file}" text)
    string(REPLACE "/../../../" "/../../" text "${text}")
    string(REPLACE "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_FILE}\" PATH)\nget_filename_component"
                   "get_filename_component(_IMPORT_PREFIX \"\${CMAKE_CURRENT_LIST_DIR}\" PATH)\n#get_filename_component"
                   text "${text}")
    string(REGEX REPLACE "\n#get_filename_component[^\n]*\nget_filename_component[^\n]*\nget_filename_component[^\n]*"
                         "\nget_filename_component(_IMPORT_PREFIX \"\${_IMPORT_PREFIX}\" PATH)" text "${text}")
    file(WRITE "${file}" "${text}")
  endforeach()
endfunction()

function(vcpkg_fixup_pkgconfig)
  file(GLOB found "${CURRENT_PACKAGES_DIR}/lib/pkgconfig/*.pc")
  if(NOT found)
    message(FATAL_ERROR "no files for pkg-config")
  endif()
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "FILE_LIST")
  file(COPY_FILE ${arg_FILE_LIST} "${CURRENT_PACKAGES_DIR}/share/${PORT}/copyright")
endfunction()

include("${PORTFILE}")

# What vcpkg itself checks after a build.
foreach(name IN ITEMS bin lib/cmake debug/include debug/share debug/lib/cmake)
  if(EXISTS "${CURRENT_PACKAGES_DIR}/${name}")
    message(FATAL_ERROR "vcpkg does not want ${name} in a package")
  endif()
endforeach()
foreach(name IN ITEMS include lib debug/lib share/coracle/copyright share/coracle/usage share/coracle/coracleConfig.cmake)
  if(NOT EXISTS "${CURRENT_PACKAGES_DIR}/${name}")
    message(FATAL_ERROR "the package lacks ${name}")
  endif()
endforeach()
